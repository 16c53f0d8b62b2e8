//! `top`: a run of another process, in the terminal.

mod canvas;
mod draw;

use crate::interrupts::{Interrupts, when_hung_up};
use crate::message::{Complaints, cause};
use crate::outcome::Outcome;
use clap::ColorChoice;
use draw::View;
use millstream_observe::{Frame, Graph, Layout};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::style;
use ratatui::layout::Rect;
use serde::Deserialize;
use std::io::{self, IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

/// The address of a program that was started with `--page`.
#[derive(Debug)]
pub(crate) struct Top {
    pub(crate) address: String,
    /// Whether to print the current state and exit.
    pub(crate) once: bool,
    /// The choice of colours.
    pub(crate) color: ColorChoice,
}

/// A page's data about its run.
#[derive(Debug, Deserialize)]
struct Seen {
    run: u64,
    graph: Graph,
    layout: Layout,
    frame: Option<Frame>,
    /// The end of the program, once it has ended.
    ended: Option<Ended>,
}

/// The end of a program.
#[derive(Debug, Deserialize)]
struct Ended {
    code: u8,
    sentence: String,
}

/// The interval between requests.
const EVERY: Duration = Duration::from_millis(250);

/// The time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most bytes of an answer, which has some two kilobytes for each stage of the run.
const MOST: u64 = 1 << 30;

/// The width of the output if there is no terminal.
const COLUMNS: u16 = 120;

impl Top {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("top");
        let page = Page::at(self.address);
        match page.seen() {
            Err(error) => {
                // A page of another kind says what it shows.
                let why = match page.not_a_run() {
                    Some(what) => what,
                    None => format!("{}; name the address of a program that runs with --page", words(&error)),
                };
                complaints.complain(&format!("{}: {why}", page.address));
                Outcome::InputOrOutputFailed
            }
            Ok(seen) if self.once || !stdout().is_terminal() => ended(&complaints, print(seen.as_ref(), &page.address)),
            Ok(seen) => {
                match self.color {
                    ColorChoice::Always => style::force_color_output(true),
                    ColorChoice::Never => style::force_color_output(false),
                    // The library checks NO_COLOR.
                    ColorChoice::Auto => {}
                }
                // Otherwise a signal would leave the terminal as it is in between. If this fails, it does.
                let interrupts = Interrupts::default();
                let _ = interrupts.listen().and_then(|()| when_hung_up(ratatui::restore));
                let mut terminal = ratatui::init();
                let shown = show(&mut terminal, &page, seen, &interrupts);
                ratatui::restore();
                interrupts.first().map_or_else(|| ended(&complaints, shown), Outcome::Interrupted)
            }
        }
    }
}

fn ended(complaints: &Complaints, shown: io::Result<()>) -> Outcome {
    match shown {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complaints.complain(&error.to_string());
            Outcome::InputOrOutputFailed
        }
        _ => Outcome::Done,
    }
}

/// The text of an error, as other programs print it.
fn words(error: &ureq::Error) -> String {
    if let ureq::Error::Io(error) = error { cause(error) } else { error.to_string() }
}

/// Prints the current state in its full height.
fn print(seen: Option<&Seen>, address: &str) -> io::Result<()> {
    let view = View { address, seen, lost: false, offset: (0, 0) };
    let mut buffer = Buffer::empty(Rect::new(0, 0, COLUMNS, view.height()));
    view.draw(buffer.area, &mut buffer);
    let mut out = stdout().lock();
    for row in buffer.content.chunks(usize::from(COLUMNS)) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Shows the run until the user presses `q`, or a signal comes.
fn show(
    terminal: &mut ratatui::DefaultTerminal,
    page: &Page,
    mut seen: Option<Seen>,
    interrupts: &Interrupts,
) -> io::Result<()> {
    let (mut lost, mut offset) = (false, (0_u16, 0_u16));
    let mut next = Instant::now() + EVERY;
    while interrupts.first().is_none() {
        let view = View { address: &page.address, seen: seen.as_ref(), lost, offset };
        terminal.draw(|frame| view.draw(frame.area(), frame.buffer_mut()))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            let Event::Key(key) = event::read()? else { continue };
            match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                KeyCode::Left => offset.0 = offset.0.saturating_sub(8),
                KeyCode::Right => offset.0 = offset.0.saturating_add(8),
                KeyCode::Up => offset.1 = offset.1.saturating_sub(1),
                KeyCode::Down => offset.1 = offset.1.saturating_add(1),
                KeyCode::Home => offset = (0, 0),
                _ => {}
            }
        } else {
            next = Instant::now() + EVERY;
            (seen, lost) = after(seen, page.seen());
        }
    }
    Ok(())
}

/// What is shown after an answer of the page, and whether there was none. The latest state stays when its process has
/// ended, until another one answers at the same address.
fn after<E>(seen: Option<Seen>, answer: Result<Option<Seen>, E>) -> (Option<Seen>, bool) {
    match answer {
        Ok(now) => (now.or(seen), false),
        Err(_) => (seen, true),
    }
}

/// The page of a program.
struct Page {
    address: String,
    agent: ureq::Agent,
}

impl Page {
    fn at(address: String) -> Self {
        // A proxy cannot reach a port of this machine.
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).proxy(None).build();
        Page { address, agent: config.into() }
    }

    /// The text of a page of this project that does not show a run of a pipeline.
    fn not_a_run(&self) -> Option<String> {
        let asked = self.agent.get(format!("http://{}/plan.json", self.address));
        let mut answer = asked.config().http_status_as_error(false).build().call().ok()?;
        let text = answer.body_mut().with_config().limit(1000).read_to_string().ok()?;
        text.starts_with("no run of a pipeline is shown here").then_some(text)
    }

    /// The state of the run; `None` before there is a run.
    fn seen(&self) -> Result<Option<Seen>, ureq::Error> {
        let mut answer = self.agent.get(format!("http://{}/plan.json", self.address)).call()?;
        answer.body_mut().with_config().limit(MOST).read_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_process_takes_the_place_of_one_that_has_ended() {
        let of = |run, ended| Seen { run, graph: Graph::default(), layout: Layout::default(), frame: None, ended };
        let ended = || Some(of(1, Some(Ended { code: 0, sentence: "done".to_owned() })));
        let shown = |answer: Result<Option<Seen>, ()>| {
            let (seen, lost) = after(ended(), answer);
            seen.map(|seen| (seen.run, seen.ended.is_some(), lost))
        };
        assert_eq!(shown(Err(())), Some((1, true, true)), "it has ended, and says so");
        assert_eq!(shown(Ok(None)), Some((1, true, false)), "the next process has no run yet");
        assert_eq!(shown(Ok(Some(of(2, None)))), Some((2, false, false)));
    }
}
