//! The rows that were taken, in their order, against what the clients know.

use super::rows::{Sending, Taken};
use std::collections::HashMap;

/// Each row is there at most once for each time that it was sent. The rows of a body are there from its first one on,
/// in their order; if there was an answer, as many as it said. What was sent after an answer comes after the rows of
/// that answer. Returns how many rows there are, in words.
pub(super) fn check(order: &[String], sendings: &[&Sending]) -> Result<String, String> {
    let mut places = HashMap::new();
    for (place, row) in order.iter().enumerate() {
        if let Some(before) = places.insert(row.as_str(), place) {
            return Err(format!("taken twice, as numbers {before} and {place}: {row}"));
        }
    }
    let (mut times, mut unknown, mut lost) = (vec![(0, u64::MAX); order.len()], 0, 0);
    for sending in sendings {
        let found: Vec<Option<usize>> = sending.rows.iter().map(|row| places.remove(row.as_str())).collect();
        let there: Vec<usize> = found.iter().copied().map_while(|place| place).collect();
        let (first, all) = (&sending.rows[0], sending.rows.len());
        if let Some(row) = found.iter().skip(there.len()).position(Option::is_some) {
            let (row, before) = (&sending.rows[there.len() + row], &sending.rows[there.len()]);
            return Err(format!("taken without a row before it, {before}: {row}"));
        }
        if !there.is_sorted() {
            return Err(format!("the rows of one body are in another order: those from {first} on"));
        }
        match sending.taken {
            Taken::First(taken) if taken != there.len() => {
                let there = there.len();
                return Err(format!("{taken} of {all} rows were taken by the answer, and {there} are: {first}"));
            }
            Taken::First(_) => {}
            Taken::Unknown => (unknown, lost) = (unknown + 1, lost + usize::from(there.len() < all)),
        }
        there.iter().for_each(|place| times[*place] = (sending.begun, sending.ended.unwrap_or(u64::MAX)));
    }
    if let Some((row, _)) = places.iter().next() {
        return Err(format!("taken, and never sent: {row}"));
    }
    let (mut earliest, mut of) = (u64::MAX, 0);
    for (place, (begun, ended)) in times.iter().enumerate().rev() {
        if earliest < *begun {
            return Err(format!(
                "sent after this row was acknowledged, and taken before it: {}, {}",
                order[of], order[place]
            ));
        }
        if *ended < earliest {
            (earliest, of) = (*ended, place);
        }
    }
    let rows = order.len();
    Ok(format!(
        "{rows} rows of {} bodies, each of them taken as the answer said; {unknown} bodies had no answer that said it, of \
         which {lost} were not taken, or not all of their rows",
        sendings.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sending(rows: &[&str], taken: Taken, begun: u64, ended: Option<u64>) -> Sending {
        Sending { rows: rows.iter().map(|row| (*row).to_owned()).collect(), taken, begun, ended }
    }

    fn checked(order: &[&str], sendings: &[Sending]) -> Result<String, String> {
        let order: Vec<String> = order.iter().map(|row| (*row).to_owned()).collect();
        check(&order, &sendings.iter().collect::<Vec<_>>())
    }

    #[test]
    fn what_clients_know_must_be_so() {
        let all = [
            sending(&["a", "b"], Taken::First(2), 0, Some(2)),
            sending(&["c", "d"], Taken::Unknown, 1, None),
            sending(&["e", "f"], Taken::First(1), 3, Some(4)),
        ];
        assert!(checked(&["a", "c", "b", "e"], &all).is_ok());
        assert!(checked(&["a", "b", "e", "c", "d"], &all).is_ok());
        assert!(checked(&["a", "b", "e"], &all).is_ok());
        for (order, why) in [
            (&["a", "b", "e", "a"][..], "twice"),
            (&["b", "a", "e"], "another order"),
            (&["a", "e"], "2 of 2"),
            (&["a", "b", "e", "f"], "1 of 2"),
            (&["a", "b", "e", "d"], "without a row before"),
            (&["a", "b", "e", "g"], "never sent"),
            (&["a", "e", "b"], "taken before it: b, e"),
        ] {
            let error = checked(order, &all).unwrap_err();
            assert!(error.contains(why), "{order:?}: {error}");
        }
    }
}
