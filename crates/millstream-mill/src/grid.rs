//! A table for people, with aligned columns.

use crate::rows::Rows;
use crate::sink::{Header, each_row, is_number};
use crate::written::Written;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rows that wait for their width.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Grid {
    header: Header,
    /// Cells of rows that are not yet written, and the header at first.
    rows: Vec<Vec<Box<str>>>,
    widths: Vec<usize>,
    right: Vec<bool>,
    is_begun: bool,
}

/// How many rows are aligned together.
const MOST: usize = 1000;

impl Grid {
    /// Takes in rows. Before END it writes every [`MOST`] of them: which rows are aligned together must not depend on
    /// where blocks end, since those of a pipe depend on time. The rows of END are one block, and stay together.
    pub(crate) fn add(&mut self, rows: &Rows, sink: usize, stage: &Arc<str>, is_end: bool) -> Written {
        let mut new = Vec::new();
        let dead = each_row(&mut self.header, rows, stage, |row| {
            new.push(row.iter().map(|cell| String::from_utf8_lossy(cell).into()).collect());
        });
        let mut text = Vec::new();
        for row in new {
            self.rows.push(row);
            let header = usize::from(!self.is_begun);
            if !is_end && self.rows.len() >= header + MOST {
                text.extend(self.text());
            }
        }
        Written::new(if text.is_empty() { Vec::new() } else { vec![(sink, text)] }, dead)
    }

    /// The rows that were not yet written.
    pub(crate) fn finish(mut self, sink: usize) -> Option<Written> {
        let text = self.text();
        (!text.is_empty()).then(|| Written::new(vec![(sink, text)], Vec::new()))
    }

    fn text(&mut self) -> Vec<u8> {
        let rows = std::mem::take(&mut self.rows);
        let columns = self.header.0.as_ref().map_or(0, |header| header.len());
        self.widths.resize(columns, 0);
        let is_header = |n: usize| n == 0 && !self.is_begun;
        if !self.is_begun {
            let numbers = |column: usize| {
                let mut cells = rows.iter().skip(1).map(|row| &row[column]).filter(|cell| !cell.is_empty()).peekable();
                cells.peek().is_some() && cells.all(|cell| is_number(cell.as_bytes()))
            };
            self.right = (0..columns).map(numbers).collect();
        }
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut out = String::new();
        for (n, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&self.widths).zip(&self.right) {
                let space = " ".repeat(width - cell.chars().count());
                let shown: String = cell.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
                line += &if *right { format!("{space}{shown}  ") } else { format!("{shown}{space}  ") };
            }
            out += line.trim_end();
            out.push('\n');
            if is_header(n) {
                let rule: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
                out += &(rule.join("  ") + "\n");
            }
        }
        self.is_begun |= !rows.is_empty();
        out.into_bytes()
    }
}
