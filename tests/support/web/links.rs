//! The links of the built-in web: from host 0's `/` they lead to every page, and to paths that are
//! forbidden, missing or moved.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::clusters::{Cluster, Kind, LANDING, Place, has_robots};
use super::words::Random;

/// A link of a page.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) to: Place,
    /// Query or fragment.
    pub(super) suffix: String,
    pub(super) text: String,
    /// Names its host even on a page of the same host.
    pub(super) absolute: bool,
}

/// All links of the web, and what they lead to besides pages.
#[derive(Default)]
pub(super) struct Woven {
    pub(super) links: BTreeMap<Place, Vec<Link>>,
    pub(super) forbidden: BTreeSet<Place>,
    pub(super) missing: BTreeSet<Place>,
    pub(super) redirects: BTreeMap<Place, Place>,
    pub(super) variants: BTreeMap<Place, Place>,
}

impl Woven {
    fn link(&mut self, from: &Place, to: &Place, suffix: &str, random: &mut Random) {
        let link = Link {
            to: to.clone(),
            suffix: suffix.to_owned(),
            text: random.phrase(2),
            absolute: random.below(2) == 0,
        };
        self.links.entry(from.clone()).or_default().push(link);
    }
}

pub(super) fn weave(clusters: &[Cluster], hosts: usize, random: &mut Random) -> Woven {
    let mut woven = Woven::default();
    let singles: Vec<&Place> = clusters
        .iter()
        .filter(|cluster| cluster.kind == Kind::Single)
        .flat_map(|cluster| &cluster.members)
        .collect();
    let landing = singles[hosts + LANDING];
    let mut trunk: Vec<&Place> = singles
        .iter()
        .copied()
        .filter(|&place| place != landing)
        .collect();
    random.shuffle(&mut trunk[1..]);

    // A tree of three branches each, its last pages in a list, and links across it.
    for (index, &place) in trunk.iter().enumerate().skip(1) {
        let in_list = index + 5 >= trunk.len();
        let parent = if in_list { index - 1 } else { (index - 1) / 3 };
        woven.link(trunk[parent], place, "", random);
    }
    for &place in &trunk {
        for _ in 0..random.between(1, 3) {
            let fragment = if random.below(8) == 0 { "#part" } else { "" };
            woven.link(place, trunk[random.below(trunk.len())], fragment, random);
        }
    }
    let anywhere = |random: &mut Random| trunk[random.below(trunk.len())];

    for cluster in clusters
        .iter()
        .filter(|cluster| cluster.kind != Kind::Single)
    {
        for member in &cluster.members {
            woven.link(anywhere(random), member, "", random);
            woven.link(member, trunk[0], "", random);
            woven.link(member, anywhere(random), "", random);
        }
        // What is to be the same page, or the same text, has the same links, also when it is read
        // on another host.
        if matches!(cluster.kind, Kind::Copy | Kind::Markup) {
            let mut shared = woven.links[&cluster.members[0]].clone();
            for link in &mut shared {
                link.absolute = true;
            }
            for member in &cluster.members {
                woven.links.insert(member.clone(), shared.clone());
            }
        }
    }

    for host in 0..hosts {
        for number in 0..2 {
            if has_robots(host) {
                let secret = (host, format!("/private/{}-{number}.html", random.word()));
                woven.link(anywhere(random), &secret, "", random);
                woven.forbidden.insert(secret);
            }
        }
        let missing = (host, format!("/missing/{}.html", random.word()));
        woven.link(anywhere(random), &missing, "", random);
        woven.missing.insert(missing);

        let moved = (host, format!("/old/{}", random.word()));
        woven.link(anywhere(random), &moved, "", random);
        woven.redirects.insert(moved, anywhere(random).clone());

        let tracked = format!("?utm_source={}&utm_medium=link", random.word());
        let session = format!(
            "?PHPSESSID={:016x}{:016x}",
            random.next_bits(),
            random.next_bits()
        );
        for query in [tracked, session] {
            let meant = anywhere(random).clone();
            woven.link(anywhere(random), &meant, &query, random);
            woven
                .variants
                .insert((meant.0, format!("{}{query}", meant.1)), meant);
        }
    }

    let (first, second) = (
        (0, "/hop/first".to_owned()),
        (hosts - 1, "/hop/second".to_owned()),
    );
    woven.link(anywhere(random), &first, "", random);
    woven.redirects.insert(first, second.clone());
    woven.redirects.insert(second, landing.clone());
    woven.link(landing, trunk[0], "", random);
    woven
}

/// Steps from host 0's `/` to everything that is linked.
pub(super) fn distances(woven: &Woven) -> BTreeMap<Place, usize> {
    let start = (0, "/".to_owned());
    let mut distances = BTreeMap::from([(start.clone(), 0)]);
    let mut queue = VecDeque::from([start]);
    while let Some(place) = queue.pop_front() {
        let next = distances[&place] + 1;
        let links = woven
            .links
            .get(&place)
            .into_iter()
            .flatten()
            .map(|link| &link.to);
        for target in links.chain(woven.redirects.get(&place)) {
            if !distances.contains_key(target) {
                distances.insert(target.clone(), next);
                queue.push_back(target.clone());
            }
        }
    }
    distances
}
