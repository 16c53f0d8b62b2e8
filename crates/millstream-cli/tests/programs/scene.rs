use millstream_testkit::programs::skipped;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Long enough for any machine; only a test that fails waits for so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A directory of files in which programs run.
pub(crate) struct Scene {
    dir: TempDir,
}

/// The source of a program's standard input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// From a file of the scene.
    File(&'a str),
    /// Through a pipe, in writes of at most this many bytes.
    Pipe(&'a [u8], usize),
    Nothing,
}

/// The outcome of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Scene { dir: TempDir::new().expect("a temporary directory") }
    }

    /// Adds a file.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path(name), content).expect("a file in the scene");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A program with these arguments, split at spaces, in this directory and in the C locale.
    pub(crate) fn command(&self, program: &str, args: &str) -> Command {
        let mut command =
            Command::new(if program == "millstream" { env!("CARGO_BIN_EXE_millstream") } else { program });
        command.current_dir(&self.dir).env("LC_ALL", "C").args(args.split(' ').filter(|arg| !arg.is_empty()));
        command
    }

    pub(crate) fn millstream(&self, args: &str, input: Input<'_>) -> Seen {
        self.run(self.command("millstream", args), input)
    }

    pub(crate) fn run(&self, mut command: Command, input: Input<'_>) -> Seen {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(match input {
            Input::File(name) => Stdio::from(File::open(self.path(name)).expect("the input")),
            Input::Pipe(..) => Stdio::piped(),
            Input::Nothing => Stdio::null(),
        });
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let output = thread::scope(|scope| {
            if let (Some(stdin), Input::Pipe(bytes, cut)) = (stdin, input) {
                scope.spawn(move || write_cut(stdin, bytes, cut));
            }
            child.wait_with_output().expect("the program ends")
        });
        Seen::of(output)
    }
}

impl Seen {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Seen { stdout: output.stdout, stderr, code: output.status.code() }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

fn write_cut(mut pipe: impl Write, bytes: &[u8], cut: usize) {
    for piece in bytes.chunks(cut) {
        match pipe.write_all(piece) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return,
            written => written.expect("the pipe takes the input"),
        }
    }
}

/// Waits for a program that should end by itself.
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            return status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("the program can be killed");
            panic!("the program did not end");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The peak of a process's memory, in bytes; `None` if the system does not report it.
pub(crate) fn resident_peak(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Whether the programs to compare with are GNU's. If not, prints that the test `name` did not run.
pub(crate) fn gnu_is_here(name: &str) -> bool {
    let version = Command::new("wc").arg("--version").output();
    let here = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU coreutils"));
    if !here {
        skipped(name, "wc is not that of GNU coreutils");
    }
    here
}

/// Texts, each of which is odd in some way.
pub(crate) fn odd_texts() -> Vec<(&'static str, Vec<u8>)> {
    let all_bytes: Vec<u8> = (0..=255).collect();
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    vec![
        ("empty", vec![]),
        ("one-byte", b"x".to_vec()),
        ("one-line-feed", b"\n".to_vec()),
        ("no-final-newline", b"to be\nor not to be".to_vec()),
        ("crlf", b"to be\r\nor not\r\n\r\nto be\r\n".to_vec()),
        ("blank", b" \t\x0b\x0c\r\n \n\n".to_vec()),
        ("utf-8", "été, ΛΈΞΗ, ﬀ, ß, 言葉 \u{a0}\u{2003}\n".into()),
        ("invalid-utf-8", b"a\xff\xfe b\xc3 \xc3\x28 \xe2\x82 c\xf0\x9f\n\x80\x81".to_vec()),
        ("nul", b"a\0b \0 \0\0c\n\0".to_vec()),
        ("all-bytes", all_bytes.repeat(3)),
        ("all-bytes-backwards", all_bytes.iter().rev().copied().collect()),
        ("long-line", b"abcdefghi ".repeat(100_000)),
        ("long-word", b"a".repeat(1 << 20)),
        ("long-nothing", [0xff].repeat(1 << 20)),
        ("noise", noise.take(700_000).collect()),
    ]
}

/// Words in lines, of about this many bytes.
pub(crate) fn prose(bytes: usize) -> Vec<u8> {
    let line = |n: usize| format!("line {n} of the text, with {} in it\n", ["wheat", "rye", "oats", "Gerste"][n % 4]);
    let mut text = Vec::with_capacity(bytes + 64);
    for n in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.extend(line(n).as_bytes());
    }
    text
}
