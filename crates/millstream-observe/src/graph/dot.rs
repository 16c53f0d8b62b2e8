//! A graph in the language of Graphviz.

use super::Graph;
use std::fmt::Write;

impl Graph {
    /// The graph for `dot`. A ring with several readers is drawn as one edge to each of them.
    ///
    /// ```
    /// use millstream::{observe::Graph, prelude::*};
    /// let dot = Graph::of(&pipeline::<u64>().map(|x| x + 1).named("a \"b\"").plan()).dot();
    /// assert!(dot.starts_with("digraph pipeline {"));
    /// assert!(dot.contains("n1 [label=\"a \\\"b\\\"\\nmap\"]"), "{dot}");
    /// assert!(dot.contains("n0 -> n1 [label=\"r0\"]"));
    /// ```
    #[must_use]
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph pipeline {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
        for (index, node) in self.nodes.iter().enumerate() {
            let (name, kind) = (quoted(&node.name), quoted(&node.described()));
            let label = if name == kind { name } else { format!("{name}\\n{kind}") };
            let _ = writeln!(text, "  n{index} [label=\"{label}\"];");
        }
        for (ring, wire) in self.wires.iter().enumerate() {
            for to in &wire.to {
                let slots =
                    wire.capacity.map_or_else(String::new, |slots| format!(": {slots} x {} B", wire.slot_bytes));
                let back = if *to <= wire.from { ", constraint=false, style=dashed" } else { "" };
                let _ = writeln!(text, "  n{} -> n{to} [label=\"r{ring}{slots}\"{back}];", wire.from);
            }
        }
        text + "}\n"
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
