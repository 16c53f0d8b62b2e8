use crate::Token;
use crate::token::ByToken;
use std::ops::Range;

/// A state since the last round whose states were kept. It may be gone.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) token: Token,
    /// The cell of its parent, if that is still known.
    pub(super) parent: Option<u32>,
    /// The cells of its children, in order, once it has evolved.
    pub(super) children: Range<u32>,
    /// Its input, once a round has named it.
    pub(super) input: Option<Bytes>,
    pub(super) output: Bytes,
    /// The state itself, if the master has it.
    pub(super) backup: Option<Bytes>,
    /// The worker that has it.
    pub(super) home: Option<usize>,
    pub(super) stage: Stage,
    /// Whether it has evolved before, and evolves again for children that were lost.
    pub(super) again: bool,
    /// The number of workers in turn that were lost while they evolved it.
    pub(super) deaths: u8,
    /// The neighbours in its worker's list.
    pub(super) before: Option<u32>,
    pub(super) after: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It does not evolve in this round.
    Rest,
    /// It is in its worker's list, and not handed out.
    Queued,
    /// It is in its worker's list, and handed out.
    Handed,
    /// Its worker is asked to give it back, so it is in no list.
    Leaving { handed: bool },
    /// The master has it, for the next worker without work.
    Reserved,
    /// It must evolve, but no worker has it: its parent evolves again, or its backup waits for a worker.
    Wanted,
    /// It has evolved, and only its children exist.
    Evolved,
}

/// A range of an arena.
pub(super) type Bytes = Range<usize>;

/// All cells, their names, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    by_token: ByToken<u32>,
    pub(super) inputs: Vec<u8>,
    pub(super) outputs: Vec<u8>,
    pub(super) backups: Vec<u8>,
    /// The buffers that the kept ones move to, when the others are forgotten.
    spare_cells: Vec<Cell>,
    spare_backups: Vec<u8>,
}

impl Cells {
    pub(super) fn find(&self, token: Token) -> Option<u32> {
        self.by_token.get(&token).copied()
    }

    /// Adds a cell; `None` if there is one of that name.
    pub(super) fn add(&mut self, token: Token, parent: Option<u32>) -> Option<u32> {
        let at = u32::try_from(self.cells.len()).ok()?;
        if self.by_token.insert(token, at).is_some() {
            return None;
        }
        self.cells.push(Cell {
            token,
            parent,
            children: 0..0,
            input: None,
            output: 0..0,
            backup: None,
            home: None,
            stage: Stage::Rest,
            again: false,
            deaths: 0,
            before: None,
            after: None,
        });
        Some(at)
    }

    pub(super) fn at(&mut self, cell: u32) -> &mut Cell {
        &mut self.cells[cell as usize]
    }

    pub(super) fn get(&self, cell: u32) -> &Cell {
        &self.cells[cell as usize]
    }

    pub(super) fn keep_output(&mut self, cell: u32, output: &[u8]) {
        self.at(cell).output = push(&mut self.outputs, output);
    }

    pub(super) fn keep_backup(&mut self, cell: u32, state: &[u8]) {
        self.at(cell).backup = Some(push(&mut self.backups, state));
    }

    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.by_token.clear();
        self.inputs.clear();
        self.outputs.clear();
        self.backups.clear();
    }

    /// Forgets all cells but these, which have backups, so that no ancestor is needed. They are renumbered in order.
    pub(super) fn keep_only(&mut self, alive: &mut [u32]) {
        self.spare_cells.clear();
        self.spare_backups.clear();
        self.by_token.clear();
        for (at, alive) in (0..).zip(alive) {
            let old = &self.cells[*alive as usize];
            let backup = old.backup.clone().map(|bytes| push(&mut self.spare_backups, &self.backups[bytes]));
            self.by_token.insert(old.token, at);
            self.spare_cells.push(Cell { parent: None, output: 0..0, backup, ..old.clone() });
            *alive = at;
        }
        std::mem::swap(&mut self.cells, &mut self.spare_cells);
        std::mem::swap(&mut self.backups, &mut self.spare_backups);
        self.inputs.clear();
    }
}

fn push(arena: &mut Vec<u8>, bytes: &[u8]) -> Bytes {
    let start = arena.len();
    arena.extend_from_slice(bytes);
    start..arena.len()
}
