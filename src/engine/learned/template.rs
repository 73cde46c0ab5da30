//! The templates of sites as rows, and those of some sites in memory.
//!
//! A commit writes what its pages do to it as one row a site. When many lines were counted since,
//! the template is written whole and these rows are deleted; much earlier where templates find no
//! room in memory, because rows of changes take longer to read than a whole template. What is in
//! memory is the rows done in order, and a commit does its change to memory once it is committed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::dedup::shingle::mix;
use crate::engine::Error;
use crate::learn::{Change, MAX_CELLS, Seen, Template};
use crate::sites::SiteName;
use crate::store::{Batch, Store, Table, for_each, keys};

/// A template is written whole when so many lines were counted in rows of changes: counting them
/// again takes some milliseconds.
const MAX_COUNTED: usize = 4 * MAX_CELLS;
/// Where it was read since it was written, when that takes as long as reading the template; but a
/// small one is not written again and again.
const MIN_COUNTED_IF_READ: usize = 2_048;

/// The template of a site, and what a group changes of it.
pub(crate) struct SiteTemplate<'a> {
    pub(crate) base: Arc<Template>,
    pub(crate) change: Option<&'a Change>,
}

impl SiteTemplate<'_> {
    /// Returns both as one.
    pub(crate) fn seen(&self) -> Seen<'_> {
        Seen::new(&self.base, self.change)
    }
}

/// The templates of sites that were asked for, in bounded memory.
#[derive(Debug)]
pub(crate) struct Templates {
    sites: RefCell<Sites>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Sites {
    /// In no order; each has its place below.
    known: Vec<Known>,
    places: HashMap<SiteName, usize>,
    bytes: usize,
    /// Number of sites that were forgotten so far.
    forgotten: u64,
}

/// A template in memory.
#[derive(Debug)]
struct Known {
    site: SiteName,
    template: Arc<Template>,
    /// Its size when it was last counted.
    bytes: usize,
    /// The commits whose changes are rows of their own, and the lines that these counted.
    pending: Vec<u64>,
    counted: usize,
    /// Whether it was read since it was written whole.
    was_read: bool,
}

impl Templates {
    /// Creates the empty cache. The last site is kept whatever its size.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            sites: RefCell::default(),
            max_bytes,
        }
    }

    /// Returns the template of a site as committed; an empty one if there is none.
    pub(crate) fn get(&self, site: &SiteName, store: &dyn Store) -> Result<Arc<Template>, Error> {
        let mut sites = self.sites.borrow_mut();
        if let Some(known) = sites.get(site) {
            return Ok(Arc::clone(&known.template));
        }
        let known = read(site, store)?;
        let template = Arc::clone(&known.template);
        sites.bytes += known.bytes;
        let place = sites.known.len();
        sites.places.insert(site.clone(), place);
        sites.known.push(known);
        sites.shrink_to(self.max_bytes);
        Ok(template)
    }

    /// Adds to a batch what a commit changes.
    pub(crate) fn write(
        &self,
        changes: BTreeMap<SiteName, Change>,
        sequence: u64,
        batch: &mut Batch,
    ) -> Written {
        let mut written = Vec::with_capacity(changes.len());
        let sites = self.sites.borrow();
        for (site, change) in changes {
            let rewritten = sites.get(&site).filter(|known| known.is_to_be_rewritten());
            if let Some(known) = rewritten {
                let whole = keys::template(site.as_str());
                batch.put(Table::Templates, whole, known.template.encode());
                for of in &known.pending {
                    batch.delete(Table::Templates, keys::template_change(site.as_str(), *of));
                }
            }
            let key = keys::template_change(site.as_str(), sequence);
            batch.put(Table::Templates, key, change.encode());
            written.push((site, change, rewritten.is_some()));
        }
        Written { sequence, written }
    }

    /// Applies what a commit changed to what is in memory.
    pub(crate) fn apply(&self, written: Written) {
        let mut sites = self.sites.borrow_mut();
        for (site, change, was_rewritten) in written.written {
            // What is not in memory is read when it is asked for.
            let Some(known) = sites.get_mut(&site) else {
                continue;
            };
            if was_rewritten {
                (known.pending, known.counted) = (Vec::new(), 0);
                known.was_read = false;
            }
            known.pending.push(written.sequence);
            known.counted += change.counted();
            Arc::make_mut(&mut known.template).take_over(change);
            let (before, now) = (known.bytes, known.measured());
            known.bytes = now;
            sites.bytes = sites.bytes.saturating_sub(before) + now;
        }
        sites.shrink_to(self.max_bytes);
    }
}

/// What a commit wrote of templates: the change of each site, and whether its template was written
/// whole.
#[derive(Debug)]
pub(crate) struct Written {
    sequence: u64,
    written: Vec<(SiteName, Change, bool)>,
}

impl Known {
    fn is_to_be_rewritten(&self) -> bool {
        let enough = match self.was_read {
            true => MIN_COUNTED_IF_READ.max(self.template.len()),
            false => MAX_COUNTED,
        };
        self.counted >= enough
    }

    fn measured(&self) -> usize {
        let pending = self.pending.capacity() * size_of::<u64>();
        self.template.memory_bytes() + pending + size_of::<Self>()
    }
}

impl Sites {
    fn get(&self, site: &SiteName) -> Option<&Known> {
        self.known.get(*self.places.get(site)?)
    }

    fn get_mut(&mut self, site: &SiteName) -> Option<&mut Known> {
        self.known.get_mut(*self.places.get(site)?)
    }

    /// Forgets any sites but the last one that was read, until the rest takes at most so many
    /// bytes.
    ///
    /// Not those that were asked for longest ago: sites take turns, so those come next, and where a
    /// few have no room, all would be read again in each round.
    fn shrink_to(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes && self.known.len() > 1 {
            self.forgotten += 1;
            let others = self.known.len() - 1;
            let known = self
                .known
                .swap_remove(mix(self.forgotten) as usize % others);
            self.bytes = self.bytes.saturating_sub(known.bytes);
            if let Some(place) = self.places.remove(&known.site)
                && let Some(moved) = self.known.get(place)
            {
                self.places.insert(moved.site.clone(), place);
            }
        }
    }
}

/// Reads the template of a site: the rows in key order, which is that of the commits.
fn read(site: &SiteName, store: &dyn Store) -> Result<Known, Error> {
    let mut template = Template::default();
    let mut known = Known {
        site: site.clone(),
        template: Arc::default(),
        bytes: 0,
        pending: Vec::new(),
        counted: 0,
        was_read: false,
    };
    let prefix = keys::template(site.as_str());
    for_each(store, Table::Templates, &prefix, &mut |key, row| {
        known.was_read = true;
        let change = keys::parse_template_change(&prefix, key);
        let counted = match change {
            None => Template::decode(row).map(|whole| {
                template = whole;
                0
            }),
            Some(_) => template.apply(row),
        };
        match (counted, change) {
            (None, _) => tracing::warn!(
                site = site.as_str(),
                "a row of the site's template is damaged"
            ),
            (Some(counted), Some(sequence)) => {
                known.pending.push(sequence);
                known.counted += counted;
            }
            (Some(_), None) => {}
        }
        Ok(())
    })?;
    known.template = Arc::new(template);
    known.bytes = known.measured();
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Seen, Sighting, Unit};
    use crate::store::{Durability, Memory};
    use crate::url;

    fn site(number: u32) -> SiteName {
        SiteName::of(&url::parse(&format!("https://www.site{number}.example/")).unwrap())
    }

    /// Commits pages of some lines each.
    fn commit(
        templates: &Templates,
        store: &dyn Store,
        pages: &[(SiteName, Vec<u32>)],
        sequence: u64,
    ) -> usize {
        let mut changes: BTreeMap<SiteName, Change> = BTreeMap::new();
        for (site, lines) in pages {
            let template = templates.get(site, store).unwrap();
            let change = changes.entry(site.clone());
            let change = change.or_insert_with(|| Change::of(&template));
            let units: Vec<Unit> = lines
                .iter()
                .map(|line| Unit {
                    line: *line,
                    is_said: true,
                })
                .collect();
            let page = Sighting {
                headline: lines.last().copied(),
                layout: 1,
                units: &units,
            };
            change.take_in(&template, &page);
        }
        let mut batch = Batch::new();
        let written = templates.write(changes, sequence, &mut batch);
        let bytes = batch.bytes();
        store.commit(batch, Durability::Process).unwrap();
        templates.apply(written);
        bytes
    }

    fn page(number: u32) -> Vec<u32> {
        let own = (0..20).map(|line| 1_000 + number * 20 + line);
        (0..80).chain(own).collect()
    }

    #[test]
    fn what_is_in_memory_is_what_its_rows_say() {
        let store = Memory::default();
        let templates = Templates::new(usize::MAX);
        let mut bytes = 0;
        for number in 0..7_000_u32 {
            let pages = [(site(number % 2), page(number))];
            bytes += commit(&templates, &store, &pages, u64::from(number));
        }
        // Twenty new lines of four bytes, some of the frame, and whole templates now and then.
        assert!(bytes / 7_000 < 160, "{} bytes a page", bytes / 7_000);
        let rows = store.range(Table::Templates, &[], &[], 10_000).unwrap();
        assert!(rows.len() < 3_000, "{} rows", rows.len());
        for at in 0..2 {
            let kept = templates.get(&site(at), &store).unwrap();
            let read = Templates::new(0).get(&site(at), &store).unwrap();
            let (kept, read) = (Seen::new(&kept, None), Seen::new(&read, None));
            assert_eq!(kept.pages(), 3_500);
            assert_eq!(read.pages(), 3_500);
            for line in 0..150_000 {
                let both = [kept, read].map(|it| it.standing(line, 1, true, false));
                assert_eq!(both[0], both[1], "line {line}");
                assert_eq!(kept.knows(line), read.knows(line), "line {line}");
            }
        }
    }

    #[test]
    fn memory_is_bounded_and_nothing_depends_on_it() {
        let store = Memory::default();
        let (large, small) = (Templates::new(usize::MAX), Templates::new(20_000));
        for number in 0..600 {
            let pages = [(site(number % 7), page(number))];
            commit(&small, &store, &pages, u64::from(number));
            // The bound, or one site that is larger.
            assert!(small.sites.borrow().bytes <= 100_000);
        }
        for at in 0..7 {
            let sites = [&small, &large].map(|it| it.get(&site(at), &store).unwrap());
            let [a, b] = [&sites[0], &sites[1]].map(|it| Seen::new(it, None));
            let same = |line| a.standing(line, 1, true, true) == b.standing(line, 1, true, true);
            assert!((0..13_000).all(same));
            assert!(a.pages() == b.pages() && a.pages() >= 85);
        }
    }

    /// What is read again and again is mostly a whole template, which is read faster.
    #[test]
    fn what_finds_no_room_is_written_whole_sooner() {
        let store = Memory::default();
        let templates = Templates::new(0);
        for number in 0..1_200 {
            let pages = [(site(number % 2), page(number))];
            commit(&templates, &store, &pages, u64::from(number));
        }
        for number in 0..2 {
            let known = read(&site(number), &store).unwrap();
            assert!(known.template.len() > 11_000, "{}", known.template.len());
            assert!(known.counted < known.template.len() && !known.pending.is_empty());
        }
    }

    /// Where a few of the sites that take turns have no room, most are in memory all the same.
    #[test]
    fn sites_that_take_turns_stay_in_memory_for_the_most_part() {
        let store = Memory::default();
        for number in 0..20 {
            let all = Templates::new(usize::MAX);
            commit(&all, &store, &[(site(number), page(number))], 1);
        }
        let bytes = (0..20).map(|number| read(&site(number), &store).unwrap().bytes);
        let templates = Templates::new(bytes.sum::<usize>() * 17 / 20);
        let mut found = 0;
        for turn in 0..400 {
            let site = site(turn % 20);
            found += u32::from(templates.sites.borrow().get(&site).is_some());
            templates.get(&site, &store).unwrap();
        }
        assert!(found > 250, "{found} of 400");
    }

    #[test]
    fn hosts_of_a_domain_are_one_site_and_addresses_are_not() {
        let of = |url| SiteName::of(&url::parse(url).unwrap());
        assert_eq!(
            of("https://a.example.org/x"),
            of("http://b.example.org:81/")
        );
        assert_ne!(of("http://127.0.0.1:81/"), of("http://127.0.0.1:82/"));
        assert_ne!(of("http://a.org/").number(), of("http://b.org/").number());
    }
}
