(() => {
  'use strict';
  const KINDS = ['working', 'starved', 'blocked'];
  const byId = id => document.getElementById(id);

  // Every moment as a whole, so that each can be shown at once.
  function momentsOf(data, version) {
    let places = [], states = Array(data.nodes).fill(1), at = 0;
    for (const [, readers] of data.rings) places.push(...Array(1 + readers.length).fill(0));
    return data.moments.map(([on, numbers, kinds]) => {
      at += on;
      places = places.slice();
      states = states.slice();
      for (let i = 0; i < numbers.length; i += 2) places[numbers[i]] += numbers[i + 1];
      for (let i = 0; i < kinds.length; i += 2) states[kinds[i]] = kinds[i + 1];
      return { at, places, states, version };
    });
  }

  const ringsOf = (data, ids) => data.rings.map(([slots, readers, writer], index) => {
    const group = byId(ids + 'r' + index);
    const counts = group.querySelectorAll('text.count');
    return {
      slots, readers, writer,
      produced: counts[counts.length - 1],
      consumed: Array.from(counts).slice(0, readers.length),
      level: group.querySelector('.level'),
      width: group.querySelector('.ring').width.baseVal.value,
    };
  });
  const nodesOf = (data, ids) => Array.from({ length: data.nodes }, (_, index) => {
    const group = byId(ids + 'n' + index);
    const number = group.querySelector('.kind'), kept = data.elements[index];
    let element = null;
    if (kept) {
      element = number.cloneNode();
      element.setAttribute('y', Number(number.getAttribute('y')) + 30);
      element.setAttribute('class', 'count element');
      group.append(element);
    }
    return { group, number, element, kept };
  });

  // The versions of the pipeline, of which each has a picture.
  const versions = [...(D.before || []), D].map((data, index, all) => {
    const ids = index === all.length - 1 ? '' : 'v' + index;
    const version = { begins: data.begins, picture: byId('p' + index) };
    version.rings = ringsOf(data, ids);
    version.nodes = nodesOf(data, ids);
    version.moments = momentsOf(data, version);
    return version;
  });
  const moments = versions.flatMap(version => version.moments);

  // The last element below a number; empty if it is not kept any more.
  function last(kept, below) {
    let [low, high] = [0, kept.length / 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (kept[2 * middle] < below) low = middle + 1; else high = middle;
    }
    return low === 0 ? '' : kept[2 * low - 2] + ': ' + kept[2 * low - 1];
  }
  const slider = byId('slider'), track = Number(slider.dataset.width);
  const [done, knob] = [slider.querySelector('.done'), slider.querySelector('.knob')];
  let now = 0, playing = 0;

  function show(index) {
    now = Math.min(Math.max(index, 0), moments.length - 1);
    const { at, places, states, version } = moments[now];
    const { rings, nodes, begins } = version;
    for (const { picture } of versions) picture.style.display = picture === version.picture ? '' : 'none';
    const reached = Array(nodes.length).fill(0), written = [];
    let place = 0;
    for (const ring of rings) {
      const produced = places[place++];
      let least = produced;
      ring.produced.textContent = produced;
      if (ring.writer === 0) reached[0] = Math.max(reached[0], produced);
      written[ring.writer] = Math.max(written[ring.writer] ?? 0, produced);
      ring.readers.forEach((reader, i) => {
        const consumed = places[place++];
        least = Math.min(least, consumed);
        reached[reader] = Math.max(reached[reader], consumed);
        if (ring.consumed[i]) ring.consumed[i].textContent = consumed;
      });
      const used = Math.min(produced - least, ring.slots);
      if (ring.level) ring.level.setAttribute('width', ring.slots ? ring.width * used / ring.slots : 0);
    }
    nodes.forEach(({ group, number, element, kept }, i) => {
      group.setAttribute('class', 'node ' + KINDS[states[i]]);
      number.textContent = reached[i] + ' numbers';
      // The elements are those that the stage has written, with the numbers of its output.
      if (element) element.textContent = last(kept, written[i] ?? reached[i]);
    });
    const x = moments.length > 1 ? track * now / (moments.length - 1) : track;
    done.setAttribute('width', x);
    knob.setAttribute('cx', x);
    const text = `${now + 1} of ${moments.length}, ${(at / 1e6).toFixed(6)} s` + (begins ? ', ' + begins.split(' from')[0] : '');
    byId('time').textContent = text;
    slider.setAttribute('aria-valuemax', moments.length);
    slider.setAttribute('aria-valuenow', now + 1);
    slider.setAttribute('aria-valuetext', text);
  }

  function play(on) {
    clearInterval(playing);
    playing = 0;
    if (on) {
      if (now === moments.length - 1) show(0);
      // The whole run takes twenty seconds, or more if there are few moments.
      playing = setInterval(() => {
        show(now + 1);
        if (now === moments.length - 1) play(false);
      }, Math.min(Math.max(20000 / moments.length, 16), 200));
    }
    byId('play').querySelector('text').textContent = on ? '\u2758\u2758' : '\u25b6';
  }

  const steps = { back: () => step(-1), on: () => step(1), play: () => play(!playing) };
  function step(by) {
    play(false);
    show(now + by);
  }
  for (const id in steps) byId(id).addEventListener('click', steps[id]);

  function seek(event) {
    const box = slider.querySelector('.track').getBoundingClientRect();
    play(false);
    show(Math.round((event.clientX - box.left) / box.width * (moments.length - 1)));
  }
  slider.addEventListener('pointerdown', event => {
    slider.setPointerCapture(event.pointerId);
    seek(event);
  });
  slider.addEventListener('pointermove', event => {
    if (event.buttons & 1) seek(event);
  });

  document.addEventListener('keydown', event => {
    const focused = event.target.id;
    if (event.key === 'ArrowLeft') step(-1);
    else if (event.key === 'ArrowRight') step(1);
    else if (event.key === 'Home') step(-moments.length);
    else if (event.key === 'End') step(moments.length);
    else if (event.key === ' ' || event.key === 'Enter') (steps[focused] || steps.play)();
    else return;
    event.preventDefault();
  });
  show(0);
})();
