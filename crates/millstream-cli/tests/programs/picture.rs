//! A recorded run, opened in a browser: stepped through and played, from a file and without a server.

use crate::scene::{Input, Scene};
use millstream_testkit::programs::{headless_chromium, is_here};

/// Presses the picture's buttons and keys, and records what is shown after each: the moment, and every node's number.
const VISITOR: &str = r"<script><![CDATA[
(() => {
  const byId = id => document.getElementById(id);
  const looks = [];
  const look = () => {
    const numbers = Array.from(document.querySelectorAll('.node .kind'), kind => kind.textContent.split(' ')[0]);
    looks.push(byId('time').textContent.split(',')[0] + '; ' + numbers.join(' '));
  };
  const press = id => { byId(id).dispatchEvent(new MouseEvent('click')); look(); };
  const type = key => { document.dispatchEvent(new KeyboardEvent('keydown', { key })); look(); };
  look();
  ['on', 'on', 'back'].forEach(press);
  ['End', 'ArrowLeft', 'Home'].forEach(type);
  press('play');
  const played = setInterval(() => {
    if (byId('play').querySelector('text').textContent !== '\u25b6') return;
    clearInterval(played);
    look();
    document.documentElement.setAttribute('data-looks', looks.join('|'));
  }, 50);
})();
]]></script></svg>";

/// The moment that is shown, the number of moments, and every node's number.
type Look = (usize, usize, Vec<u64>);

fn looks(dom: &str) -> Vec<Look> {
    let all = dom.split_once("data-looks=\"").unwrap_or_else(|| panic!("it was not played to its end: {dom}")).1;
    let look = |look: &str| {
        let (moment, numbers) = look.split_once("; ").unwrap();
        let (now, of) = moment.split_once(" of ").unwrap();
        let numbers = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        (now.parse().unwrap(), of.parse().unwrap(), numbers)
    };
    all.split_once('"').unwrap().0.split('|').map(look).collect()
}

#[test]
fn a_recorded_count_is_stepped_through_and_played_in_a_browser() {
    if !is_here("chromium", "a_recorded_count_is_stepped_through_and_played_in_a_browser") {
        return;
    }
    let text: String = (0..1_000_000).map(|n| format!("{n}\n")).collect();
    let blocks = text.len().div_ceil(64 * 1024) as u64;
    let scene = Scene::new().file("text", text);
    assert_eq!(scene.millstream("wc --record-picture run.svg text", Input::Nothing).code, Some(0));
    let svg = std::fs::read_to_string(scene.path("run.svg")).unwrap();
    let visited = svg.trim_end().strip_suffix("</svg>").expect("the end of the picture").to_owned() + VISITOR;
    std::fs::write(scene.path("visited.svg"), visited).unwrap();
    // Played in virtual time, which does not wait.
    let browser = headless_chromium(&scene.path("profile"))
        .args(["--virtual-time-budget=600000", "--dump-dom"])
        .arg(format!("file://{}", scene.path("visited.svg").display()))
        .output()
        .unwrap();
    let looks = looks(&String::from_utf8(browser.stdout).unwrap());
    let of = looks[0].1;
    assert!(of > 3, "a run of {blocks} blocks has {of} moments");
    let moments: Vec<_> = looks.iter().map(|(now, all, _)| (*now, *all)).collect();
    assert_eq!(moments, [1, 2, 3, 2, of, of - 1, 1, 1, of].map(|now| (now, of)));
    // The same moment shows the same numbers, a later one never less, and the last one all: every block, and END.
    let numbers = |look: usize| &looks[look].2;
    assert_eq!(numbers(1), numbers(3));
    for (earlier, later) in [(0, 1), (1, 2), (2, 5), (5, 4)] {
        assert!(numbers(earlier).iter().zip(numbers(later)).all(|(earlier, later)| earlier <= later), "{looks:?}");
    }
    for end in [4, 8] {
        assert!(numbers(end).len() > 4 && numbers(end).iter().all(|number| *number == blocks + 1), "{looks:?}");
    }
    assert!(numbers(6).iter().sum::<u64>() < numbers(4).iter().sum::<u64>());
}
