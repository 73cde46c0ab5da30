//! What came of orders in the list of the crawl: rows of the engine in which those say so who carry
//! them out, by the positions of the orders.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::broker::{Broker, Error, Result};
use crate::cluster::rows::{change, read};

/// Number of orders of which a row says what came of them.
const KEPT: usize = 16;

/// What came of the last orders.
#[derive(Serialize, Deserialize)]
struct Answers<T>(BTreeMap<u64, T>);

impl<T> Default for Answers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// Returns what a row says came of an order.
pub(in crate::cluster) fn answer<T: DeserializeOwned>(
    broker: &dyn Broker,
    row: &str,
    order: u64,
) -> Result<Option<T>> {
    let (_, mut answers) = read::<Answers<T>>(broker, row)?;
    Ok(answers.0.remove(&order))
}

/// Says in a row what came of an order, if the engine takes it: what `say` makes of what the row
/// says of it so far.
///
/// # Errors
///
/// [`Error::Away`] if it does not answer. A row that it refuses or that cannot be read keeps nobody
/// from anything else.
pub(in crate::cluster) fn tell<T>(
    broker: &dyn Broker,
    row: &str,
    order: u64,
    say: impl Fn(Option<T>) -> T,
) -> Result<()>
where
    T: Serialize + DeserializeOwned,
{
    let told = change(broker, row, |answers: &mut Answers<T>| {
        let done = say(answers.0.remove(&order));
        answers.0.insert(order, done);
        while answers.0.len() > KEPT {
            answers.0.pop_first();
        }
        true
    });
    match told {
        Err(error @ Error::Away(_)) => Err(error),
        Err(error) => {
            tracing::warn!(row, %error, "nobody is told what came of an order");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;

    #[test]
    fn a_row_says_what_came_of_the_last_orders() {
        let engine = Memory::start(1_000);
        for order in 1..=20 {
            tell(&engine, "done.03", order, |_| order.to_string()).unwrap();
        }
        let more = |known: Option<String>| known.unwrap_or_default() + " and seven";
        tell(&engine, "done.03", 20, more).unwrap();
        let said = |row: &str, order| answer::<String>(&engine, row, order).unwrap();
        assert_eq!(said("done.03", 20).as_deref(), Some("20 and seven"));
        assert_eq!(said("done.03", 5).as_deref(), Some("5"));
        assert_eq!(said("done.03", 4), None);
        assert_eq!(said("done.04", 20), None);
    }
}
