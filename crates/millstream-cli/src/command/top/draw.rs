//! How `top` draws a moment of a run.

use super::canvas::{self, COLOUR};
use super::{Ended, Seen};
use millstream_observe::{Frame, Latency, StageFrame, WorkerFrame};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table, Widget, Wrap};

/// A moment of a run.
pub(super) struct View<'a> {
    pub(super) address: &'a str,
    pub(super) seen: Option<&'a Seen>,
    /// Whether the program no longer answers.
    pub(super) lost: bool,
    /// The offset of the picture in columns and rows.
    pub(super) offset: (u16, u16),
}

/// The bits of a run's number without its version.
const RUN: u64 = (1 << 32) - 1;

/// Lines of the bottleneck's sentence.
const SENTENCE: u16 = 3;

/// The most lines of stages that are stuck, one each.
const STUCK: usize = 4;

/// Lines of all sentences.
fn sentences(frame: Option<&Frame>) -> u16 {
    SENTENCE + frame.map_or(0, |frame| frame.stuck.len().min(STUCK)) as u16
}

impl View<'_> {
    /// The height of the whole view.
    pub(super) fn height(&self) -> u16 {
        let Some(Seen { graph, layout, frame, .. }) = self.seen else { return 2 };
        let others = frame.as_ref().map_or(0, |frame| frame.side_outputs.len() + frame.workers.len());
        let rows = u16::try_from(graph.nodes.len() + others + 1).unwrap_or(u16::MAX);
        canvas::size(layout).1.saturating_add(rows).saturating_add(1 + sentences(frame.as_ref()) + 1)
    }

    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let Some((seen, frame)) = self.seen.and_then(|seen| Some((seen, seen.frame.as_ref()?))) else {
            let nothing = format!("{}: no run yet", self.address);
            return Paragraph::new(nothing).render(area, buffer);
        };
        let sentences = sentences(Some(frame));
        let (all, half) = (canvas::size(&seen.layout).1, area.height.saturating_sub(1 + sentences) / 2);
        let picture = if area.height >= self.height() { all } else { all.min(half.max(canvas::ROW)) };
        let parts =
            [Constraint::Length(1), Constraint::Length(sentences), Constraint::Length(picture), Constraint::Fill(1)];
        let [title, sentences, picture, table] = ratatui::layout::Layout::vertical(parts).areas(area);
        self.title(seen, frame).render(title, buffer);
        let found = frame.bottleneck.as_ref().map_or("nothing holds the run back yet", |found| &found.sentence);
        let changed = frame.change.as_ref().map_or_else(String::new, |change| format!("  {}", change.sentence));
        let found = Line::from(vec![Span::from(found.to_owned()).bold(), Span::from(changed)]);
        let stuck = frame.stuck.iter().take(STUCK).map(|stuck| Line::styled(stuck.sentence.clone(), COLOUR.2));
        let said: Vec<_> = stuck.chain([found]).collect();
        Paragraph::new(said).wrap(Wrap { trim: true }).render(sentences, buffer);
        canvas::draw(&seen.graph, &seen.layout, frame, self.offset, picture, buffer);
        self.table(seen, frame).render(table, buffer);
    }

    fn title(&self, seen: &Seen, frame: &Frame) -> Line<'static> {
        let state = match (&seen.ended, self.lost, frame.running) {
            (Some(Ended { code, sentence }), _, _) => format!("ended, exit code {code}: {sentence}"),
            (None, true, _) => "its process is gone, with an unknown exit code".to_owned(),
            (None, false, true) => "running".to_owned(),
            (None, false, false) => "this run has ended".to_owned(),
        };
        let latency = frame.latency.as_ref().map_or(String::new(), |latency| {
            let Latency { p50, p99, max, .. } = latency;
            format!("  source to sink p50 {} p99 {} max {}", seconds(*p50), seconds(*p99), seconds(*max))
        });
        let version = if frame.version > 1 { format!(", version {}", frame.version) } else { String::new() };
        Line::from(vec![
            Span::from(format!("{}  run {}{version}  {:.1} s  {state}", self.address, seen.run & RUN, frame.at)).bold(),
            Span::from(latency),
            Span::from("  q: quit, arrows: move").dim(),
        ])
    }

    fn table(&self, seen: &Seen, frame: &Frame) -> Table<'static> {
        let stages = seen.graph.nodes.iter().zip(&frame.stages).map(|(node, stage)| (node.described(), stage));
        let beside = frame.side_outputs.iter().map(|side_output| ("beside".to_owned(), side_output));
        let has_rows = frame.stages.iter().any(|stage| stage.rows.is_some());
        let stages = stages.chain(beside).map(|(described, stage)| {
            let latency = stage.latency.as_ref().map_or(String::new(), |latency| seconds(latency.p99));
            let empties = stage.empties.map_or(String::new(), |share| format!("{:.0}%", share * 100.0));
            let service = stage.service_ns.map_or(String::new(), |ns| seconds(ns * 1e-9));
            let (speed, count) = match has_rows {
                true => (row_rate(stage).map_or(String::new(), rate), stage.rows.map(|rows| rows.to_string())),
                false => (rate(number_rate(stage)), None),
            };
            let mut cells = vec![
                Line::from(stage.name.clone()),
                Line::from(described),
                bar(stage),
                Line::from(format!("{:>3.0}%", stage.working * 100.0)),
                Line::from(speed).right_aligned(),
                Line::from(service).right_aligned(),
                Line::from(latency).right_aligned(),
                Line::from(empties).right_aligned(),
                Line::from(stage.moved.to_string()).right_aligned(),
            ];
            if has_rows {
                cells.push(Line::from(count.unwrap_or_default()).right_aligned());
            }
            Row::new(cells)
        });
        let mut head = vec!["stage", "", "working starved blocked", ""];
        head.extend(match has_rows {
            true => &["rows/s", "a block", "p99", "empties", "blocks", "rows"][..],
            false => &["numbers/s", "a number", "p99", "empties", "numbers"],
        });
        let length = [BAR as u16 + 3, 4, 10, 9, 9, 7].map(Constraint::Length);
        let counts = if has_rows { &[8, 12][..] } else { &[14] };
        let mut widths = vec![Constraint::Fill(2), Constraint::Fill(1)];
        widths.extend(length.into_iter().chain(counts.iter().copied().map(Constraint::Length)));
        let workers = frame.workers.iter().enumerate().map(|(index, worker)| row_of(index, worker));
        let rows = stages.chain(workers).skip(usize::from(self.offset.1));
        Table::new(rows.collect::<Vec<_>>(), widths).header(Row::new(head).style(Style::new().dim()))
    }
}

/// A worker. The grey part of its bar is the time in which it looked for work.
fn row_of(index: usize, worker: &WorkerFrame) -> Row<'static> {
    let busy = cells(worker.busy);
    let looking = cells(worker.idle).min(BAR - busy);
    Row::new([
        Line::from(format!("worker {index}")),
        Line::from(format!("asleep {:.0}%", worker.parked * 100.0)),
        Line::from(vec![Span::styled("█".repeat(busy), COLOUR.0), Span::styled("░".repeat(looking), COLOUR.1)]),
        Line::from(format!("{:>3.0}%", worker.busy * 100.0)),
    ])
}

const BAR: usize = 20;

/// The part of a bar that shows a share.
fn cells(share: f64) -> usize {
    ((share * BAR as f64).round() as usize).min(BAR)
}

/// The shares of a stage's time, next to each other.
fn bar(stage: &StageFrame) -> Line<'static> {
    let (working, blocked) = (cells(stage.working), cells(stage.blocked));
    let starved = BAR.saturating_sub(working + blocked);
    Line::from(vec![
        Span::styled("█".repeat(working), COLOUR.0),
        Span::styled("░".repeat(starved), COLOUR.1),
        Span::styled("▓".repeat(blocked.min(BAR - working)), COLOUR.2),
    ])
}

/// A rate in few characters.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{:.2} G", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.1} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}

/// What a stage gets through in a second: rows, where its values hold several each.
pub(super) fn speed(stage: &StageFrame) -> String {
    row_rate(stage).map_or_else(|| format!("{}/s", rate(number_rate(stage))), |rows| format!("{} rows/s", rate(rows)))
}

/// Numbers in a second, over some seconds: a source may have come with none in the last frame.
fn number_rate(stage: &StageFrame) -> f64 {
    stage.recent_rate.unwrap_or(stage.rate)
}

/// The same of rows.
fn row_rate(stage: &StageFrame) -> Option<f64> {
    stage.recent_row_rate.or(stage.row_rate)
}

/// A time in few characters.
fn seconds(time: f64) -> String {
    match time {
        time if time >= 1.0 => format!("{time:.2} s"),
        time if time >= 1e-3 => format!("{:.1} ms", time * 1e3),
        time if time >= 1e-6 => format!("{:.1} us", time * 1e6),
        time => format!("{:.1} ns", time * 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_core::{Arrow, pipeline};
    use millstream_observe::{Change, Graph, RingFrame, Stuck};

    /// A fan-out: `one` works, the stage with the long name is blocked half of the time, the others starve.
    fn seen() -> Seen {
        let p = pipeline::<u64>()
            .fanout(|p| p.map(|x| x + 1).named("one"), |p| p.map(|x| x * 2).named("a stage with a long name"))
            .map(|(x, y)| x ^ y)
            .named("joined");
        let graph = Graph::of(&p.plan());
        let mut frame = Frame::default();
        (frame.at, frame.running) = (1.5, true);
        for (index, node) in graph.nodes.iter().enumerate() {
            let mut stage = StageFrame::default();
            (stage.name, stage.moved, stage.rate) = (node.name.clone(), 1000 + index as u64, 12_345_678.0);
            let shares = [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.25, 0.25, 0.5), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0)];
            (stage.working, stage.starved, stage.blocked) = shares[index];
            stage.service_ns = (index == 2).then_some(1234.5);
            stage.empties = (index == 1).then_some(0.667);
            frame.stages.push(stage);
        }
        for index in 0..graph.wires.len() {
            let mut ring = RingFrame::default();
            (ring.capacity, ring.occupied) = (4096, if index == 0 { 2048 } else { 0 });
            frame.rings.push(ring);
        }
        Seen { run: 1, layout: graph.layout(), graph, frame: Some(frame), ended: None }
    }

    fn lines(view: &View<'_>, width: u16, height: u16) -> Vec<String> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view.draw(buffer.area, &mut buffer);
        let row = |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect::<String>();
        buffer.content.chunks(usize::from(width)).map(row).collect()
    }

    #[test]
    fn everything_is_drawn_if_there_is_room() {
        let seen = seen();
        let view = View { address: "here:1", seen: Some(&seen), lost: false, offset: (0, 0) };
        let all = lines(&view, 130, view.height()).join("\n");
        for part in [
            "here:1  run 1  1.5 s  running",
            "nothing holds the run back yet",
            "│one            │",
            "│…th a long name│",
            "▕███···▏",
            "▕······▏",
            "12.35 M/s│",
            "█████░░░░░▓▓▓▓▓▓▓▓▓▓",
            "1.2 us",
            " 67% ",
            "1004",
        ] {
            assert!(all.contains(part), "no {part:?} in\n{all}");
        }
        let row = |name: &str| all.lines().position(|line| line.contains(name)).unwrap();
        assert!(row("│one") != row("│…"), "{all}");
        assert_eq!(all.matches('▶').count(), 4, "an arrow at every reader:\n{all}");
    }

    /// A slot of a program as text holds many rows, so its numbers say little.
    #[test]
    fn rows_are_drawn_where_they_are_counted() {
        let mut seen = seen();
        let stage = &mut seen.frame.as_mut().unwrap().stages[1];
        (stage.rows, stage.row_rate) = (Some(7_654_321), Some(2_500_000.0));
        let view = View { address: "here:1", seen: Some(&seen), lost: false, offset: (0, 0) };
        let all = lines(&view, 130, view.height()).join("\n");
        for part in ["│  2.50 M rows/s│", "rows/s", "7654321", "blocks", "1004"] {
            assert!(all.contains(part), "no {part:?} in\n{all}");
        }
    }

    #[test]
    fn what_is_stuck_and_what_is_beside_and_the_workers_are_drawn() {
        let mut seen = seen();
        let frame = seen.frame.as_mut().unwrap();
        let sentence = "`one` has reached number 7 and moved nothing for 3 s: its function has not returned.";
        let mut stuck = Stuck::default();
        stuck.sentence = sentence.to_owned();
        frame.stuck.push(stuck);
        let mut letters = StageFrame::default();
        (letters.name, letters.moved) = ("one.dead-letters".to_owned(), 4321);
        frame.side_outputs.push(letters);
        for (busy, idle, parked) in [(1.0, 0.0, 0.0), (0.25, 0.5, 0.25)] {
            let mut worker = WorkerFrame::default();
            (worker.busy, worker.idle, worker.parked) = (busy, idle, parked);
            frame.workers.push(worker);
        }
        let view = View { address: "here:1", seen: Some(&seen), lost: false, offset: (0, 0) };
        let all = lines(&view, 130, view.height());
        let at = |part: &str| all.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{all:#?}"));
        assert!(at(sentence) < at("nothing holds the run back yet"), "{all:#?}");
        let letters = &all[at("one.dead-letters")];
        assert!(letters.contains("beside") && letters.contains(" 4321"), "{letters}");
        let worker = &all[at("worker 1")];
        for part in ["asleep 25%", " █████░░░░░░░░░░ ", " 25%"] {
            assert!(worker.contains(part), "no {part:?} in {worker}");
        }
        assert!(at("worker 1") + 1 < all.len(), "it is the whole height: {all:#?}");
    }

    #[test]
    fn rates_between_two_bursts_are_those_of_some_seconds() {
        let mut seen = seen();
        for stage in &mut seen.frame.as_mut().unwrap().stages {
            (stage.rate, stage.recent_rate) = (0.0, Some(4321.0));
        }
        let view = View { address: "here:1", seen: Some(&seen), lost: false, offset: (0, 0) };
        let all = lines(&view, 130, view.height()).join("\n");
        assert_eq!(all.matches("4321/s│").count(), 5, "{all}");
        assert_eq!(all.matches(" 4321 ").count(), 5, "{all}");
    }

    #[test]
    fn a_small_terminal_shows_a_part() {
        let seen = seen();
        let shown = |offset| {
            let view = View { address: "here:1", seen: Some(&seen), lost: true, offset };
            lines(&view, 60, 16).join("\n")
        };
        let left = shown((0, 0));
        assert!(left.contains("its process is gone") && left.contains("source") && !left.contains("│sink"), "{left}");
        assert!(shown((90, 0)).contains("│sink"), "{}", shown((90, 0)));
        for (width, height) in [(1, 1), (3, 200), (200, 3), (10, 5)] {
            let view = View { address: "here:1", seen: Some(&seen), lost: false, offset: (1000, 1000) };
            lines(&view, width, height);
        }
    }

    #[test]
    fn the_version_and_the_last_change_are_drawn() {
        let mut seen = seen();
        let sentence = "version 2 from number 37 on, longest pause 0.200 ms, 3 states moved: more rows come";
        // The upper half of a run's number is the version's.
        seen.run = (2 << 32) | 7;
        if let Some(frame) = &mut seen.frame {
            let mut change = Change::default();
            change.sentence = sentence.to_owned();
            (frame.version, frame.change) = (2, Some(change));
        }
        let drawn = |seen: &Seen| {
            let view = View { address: "here:1", seen: Some(seen), lost: false, offset: (0, 0) };
            lines(&view, 130, view.height()).join("\n")
        };
        let all = drawn(&seen);
        assert!(all.contains("here:1  run 7, version 2  1.5 s  running"), "{all}");
        assert!(all.contains(&format!("nothing holds the run back yet  {sentence}")), "{all}");
        seen.frame.as_mut().unwrap().version = 1;
        assert!(!drawn(&seen).contains(", version"), "the first version is the pipeline itself");
    }

    #[test]
    fn without_a_run_the_view_says_so() {
        let view = View { address: "here:1", seen: None, lost: false, offset: (0, 0) };
        assert!(lines(&view, 30, 2)[0].starts_with("here:1: no run yet"));
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([0.0, 9999.0, 12_345.0, 1.5e6, 2.5e9].map(rate), ["0", "9999", "12.3 k", "1.50 M", "2.50 G"]);
        assert_eq!([2e-9, 1.5e-6, 2.5e-3, 3.0].map(seconds), ["2.0 ns", "1.5 us", "2.5 ms", "3.00 s"]);
    }
}
