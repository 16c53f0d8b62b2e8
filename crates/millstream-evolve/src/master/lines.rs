/// Queues that share their memory. Their nodes suffice for all items of all queues together.
#[derive(Debug)]
pub(super) struct Lines<T> {
    nodes: Vec<(T, Option<u32>)>,
    /// The first free node. Each free node links to the next one.
    free: Option<u32>,
    waiting: usize,
}

/// The ends of one queue.
#[derive(Debug, Default)]
pub(super) struct Line {
    ends: Option<(u32, u32)>,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Lines { nodes: Vec::new(), free: None, waiting: 0 }
    }
}

impl<T: Copy> Lines<T> {
    /// Reserves room for this many items beyond those that wait now.
    pub(super) fn reserve(&mut self, more: usize) {
        self.nodes.reserve((self.waiting + more).saturating_sub(self.nodes.len()));
    }

    pub(super) fn push(&mut self, line: &mut Line, item: T) {
        let node = match self.free {
            Some(free) => {
                self.free = std::mem::replace(&mut self.nodes[free as usize], (item, None)).1;
                free
            }
            None => {
                self.nodes.push((item, None));
                u32::try_from(self.nodes.len() - 1).expect("cells are numbered by 32 bits")
            }
        };
        self.waiting += 1;
        line.ends = Some(match line.ends {
            Some((first, last)) => {
                self.nodes[last as usize].1 = Some(node);
                (first, node)
            }
            None => (node, node),
        });
    }

    pub(super) fn pop(&mut self, line: &mut Line) -> Option<T> {
        let (first, last) = line.ends?;
        let (item, next) = self.nodes[first as usize];
        line.ends = next.map(|next| (next, last));
        self.nodes[first as usize].1 = self.free.replace(first);
        self.waiting -= 1;
        Some(item)
    }

    pub(super) fn clear(&mut self, line: &mut Line) {
        while self.pop(line).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn each_line_is_a_queue(steps in prop::collection::vec((0..4_usize, 0..3_u8, any::<u16>()), 0..300)) {
            let (mut lines, mut queues, mut known) = (Lines::default(), [const { VecDeque::new() }; 4], 0);
            let mut heads: [Line; 4] = Default::default();
            for (at, step, item) in steps {
                match step {
                    0 => prop_assert_eq!(lines.pop(&mut heads[at]), queues[at].pop_front()),
                    _ => {
                        lines.push(&mut heads[at], item);
                        queues[at].push_back(item);
                    }
                }
                known = known.max(queues.iter().map(VecDeque::len).sum::<usize>());
                prop_assert!(lines.nodes.len() == known, "free nodes are used again");
            }
            lines.clear(&mut heads[0]);
            prop_assert_eq!(lines.pop(&mut heads[0]), None);
            prop_assert_eq!(lines.waiting, queues[1..].iter().map(VecDeque::len).sum::<usize>());
        }
    }

    #[test]
    fn the_reserved_room_is_enough() {
        let (mut lines, mut line) = (Lines::default(), Line::default());
        lines.push(&mut line, 0);
        lines.reserve(100);
        let room = lines.nodes.capacity();
        assert!(room >= 101);
        (0..100).for_each(|item| lines.push(&mut line, item));
        assert_eq!(lines.nodes.capacity(), room);
    }
}
