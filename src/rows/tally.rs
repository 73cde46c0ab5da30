//! Counts by what was counted.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::dedup::Ineligible;
use crate::fetch::FailureClass;
use crate::frontier::{Admission, Finding};

use super::visit_verdict::VisitVerdict;

/// A kind of thing that is counted by name.
pub trait Named {
    /// Returns the name in rows, logs and JSON. Equal values have equal names.
    fn name(&self) -> &'static str;
}

/// How often each value of `K` occurred. In rows and JSON it is a map from names to numbers, in
/// which values that never occurred are missing; it can be read as such a map too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tally<K> {
    counts: BTreeMap<String, u64>,
    #[serde(skip)]
    of: PhantomData<K>,
}

impl<K: Named> Tally<K> {
    /// Counts one more.
    pub fn add(&mut self, key: &K) {
        self.add_named(key);
    }

    /// Counts one more of what is no `K`, and has a name that none has.
    pub fn add_named(&mut self, key: &impl Named) {
        match self.counts.get_mut(key.name()) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(key.name().to_owned(), 1);
            }
        }
    }

    /// Returns how often `key` occurred.
    pub fn of(&self, key: &K) -> u64 {
        self.counts.get(key.name()).copied().unwrap_or(0)
    }

    /// Takes back one that was counted under a name, if any was.
    pub fn take_back(&mut self, name: &str) {
        if let Some(count) = self.counts.get_mut(name) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(name);
            }
        }
    }
}

impl<K> schemars::JsonSchema for Tally<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tally".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, u64>::json_schema(generator)
    }
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self {
            counts: BTreeMap::new(),
            of: PhantomData,
        }
    }
}

impl<K> Deref for Tally<K> {
    type Target = BTreeMap<String, u64>;

    fn deref(&self) -> &Self::Target {
        &self.counts
    }
}

impl Named for VisitVerdict {
    fn name(&self) -> &'static str {
        VisitVerdict::name(*self)
    }
}

impl Named for Ineligible {
    fn name(&self) -> &'static str {
        Ineligible::name(*self)
    }
}

impl Named for FailureClass {
    fn name(&self) -> &'static str {
        FailureClass::name(*self)
    }
}

impl Named for Admission {
    fn name(&self) -> &'static str {
        Admission::name(self)
    }
}

impl Named for Finding {
    fn name(&self) -> &'static str {
        Finding::name(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Table, decode, encode};

    #[test]
    fn a_tally_is_kept_as_a_map_from_names() {
        let mut tally = Tally::<FailureClass>::default();
        for class in [FailureClass::Dns, FailureClass::Tls, FailureClass::Dns] {
            tally.add(&class);
        }
        assert_eq!(tally.of(&FailureClass::Dns), 2);
        let map = BTreeMap::from([("dns".to_owned(), 2), ("tls".to_owned(), 1_u64)]);
        assert_eq!(encode(&tally), encode(&map));
        assert_eq!(
            decode::<Tally<FailureClass>>(Table::Meta, &encode(&map)).unwrap(),
            tally
        );
        tally.take_back("tls");
        tally.take_back("guard");
        assert_eq!(tally.keys().collect::<Vec<_>>(), ["dns"]);
    }
}
