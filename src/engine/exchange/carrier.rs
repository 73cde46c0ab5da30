//! What is between the shards of one process in tests: a carrier that loses, doubles, delays and
//! reorders, as random numbers say.

/// How often a carrier does what, in percent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Messages that never arrive.
    pub lost: u8,
    /// Messages that arrive twice.
    pub doubled: u8,
    /// Messages that arrive after later ones.
    pub delayed: u8,
}

/// What is carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// A parcel, as bytes, to the shard.
    Parcel(u16, Vec<u8>),
    /// That a shard has committed what another one has sent, up to a number.
    Acknowledged {
        /// The shard that sent it.
        from: u16,
        /// The shard that committed it.
        to: u16,
        /// The number.
        through: u64,
    },
}

/// Carries between the shards of one process, for tests.
#[derive(Debug, Clone)]
pub struct Carrier {
    faults: Faults,
    random: u64,
    /// What is on its way, with the turn at which it arrives.
    on_the_way: Vec<(u64, Carried)>,
    turn: u64,
}

impl Carrier {
    /// A carrier whose faults follow from a seed.
    pub fn new(faults: Faults, seed: u64) -> Self {
        Self {
            faults,
            random: seed,
            on_the_way: Vec::new(),
            turn: 0,
        }
    }

    /// Sends something on its way.
    pub fn send(&mut self, carried: Carried) {
        if self.happens(self.faults.lost) {
            return;
        }
        if self.happens(self.faults.doubled) {
            let late = self.turn + self.below(9);
            self.on_the_way.push((late, carried.clone()));
        }
        let late = match self.happens(self.faults.delayed) {
            true => self.turn + self.below(9),
            false => self.turn,
        };
        self.on_the_way.push((late, carried));
    }

    /// Returns what arrives now.
    pub fn arrived(&mut self) -> Vec<Carried> {
        self.turn += 1;
        let turn = self.turn;
        let here = self.on_the_way.extract_if(.., |(due, _)| *due < turn);
        let mut here: Vec<_> = here.collect();
        here.sort_by_key(|(due, _)| *due);
        here.into_iter().map(|(_, carried)| carried).collect()
    }

    /// Returns `true` if nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.on_the_way.is_empty()
    }

    fn happens(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// A number below `end` (splitmix64).
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
