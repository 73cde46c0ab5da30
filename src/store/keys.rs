//! The key layout of every table. Numbers are big-endian, so that they sort in numeric order.
//!
//! | table | key |
//! |---|---|
//! | `Meta` | a name |
//! | `Pages` | URL id (16 bytes) |
//! | `Hosts`, `Robots` | host key as text |
//! | `Queue` | host key, NUL, class (1 byte), sequence of the block's last URL (8 bytes) |
//! | `Due` | due time in ms since 1970 (8 bytes), host key |
//! | `Revisits` | due time in ms since 1970 (8 bytes), URL id (16 bytes) |
//! | `Scope` | kind (1 byte, a capital if it is the seed's own), entry as text; of what a seed has moved to with `m` in front |
//! | `Clusters` | member: document of the original (8 bytes), 0, rank (16 bytes), URL id (16 bytes) |
//! | | canonical vote: document of the original (8 bytes), 1, id of the URL that a member names (16 bytes), hash of its site (8 bytes), id of the member (16 bytes) |
//! | `Learned` | of a host: host key, NUL, kind (1 byte), subject |
//! | | of a domain: domain, NUL |
//! | | script shells, and other numbers of hosts, domains and pages: NUL, kind (1 byte), host key, domain or URL id |
//! | `Deltas` | sequence of the commit (8 bytes) |
//! | `Kept` | URL id (16 bytes) |
//! | `Templates` | site, NUL |
//! | | what a commit changed of it: site, NUL, sequence of the commit (8 bytes) |
//! | `Parts` | document of the original (8 bytes) |
//! | `Groups` | page: 0, URL id (16 bytes) |
//! | | text without its digits: 1, document (8 bytes) |
//! | | judged early: 2, site (8 bytes), URL id (16 bytes) |
//! | | told to other shards early: 5, site (8 bytes), document (8 bytes) |
//! | `Earlier` | id of a URL as it is written (16 bytes) |
//! | `Outbox` | number of the receiving shard, or `ALL` (2 bytes), number of the message (8 bytes) |
//! | `Deferred` | host key, NUL, kind (8 bytes), generation and stratum (1 byte), rank (8 bytes) |

/// Names of the rows of `Meta`.
pub mod meta {
    /// The crawl's secret, drawn once.
    pub const SECRET: &[u8] = b"secret";
    /// Version of the form of the rows, a number.
    pub const FORMAT: &[u8] = b"format";
    /// Counters and sequences; rewritten by every commit.
    pub const STATE: &[u8] = b"state";
    /// Time of the last commit (ms since 1970), to notice a clock that was ahead.
    pub const TIME: &[u8] = b"time";
    /// Ends of archive and log, and checkpoints; rewritten by every commit.
    pub const DISK: &[u8] = b"disk";
    /// End of the archive of texts; rewritten by every commit that appends to it.
    pub const TEXTS: &[u8] = b"texts";
    /// What the names of the files of both archives are made of.
    pub const FILES: &[u8] = b"files";
    /// Prefix of the bodies of duplicates that no record has yet, by URL id (16 bytes).
    pub const UNPACKED: &[u8] = b"unpacked/";
    /// The number that the engine was to give to the next commit; rewritten by every commit, so
    /// that its journal says what its number is. No other row has this key.
    pub const NEXT_NUMBER: &[u8] = b"number/next";
    /// Names of the tables of which the engine never asks that a memtable be sealed, with a space
    /// between two; rewritten when a table is created.
    pub const UNASKED: &[u8] = b"unasked";
    /// Where the store stands in the log that its commits go into first, if there is one; rewritten
    /// by every commit.
    pub const LOG: &[u8] = b"log";
    /// How far the copy is that is being made here of another worker's, from when that began until
    /// it is complete.
    pub const COPYING: &[u8] = b"copying";
    /// How many times the crawl was taken over by another worker, whose disk had no files of the
    /// archives or fewer (a number).
    pub const KEEPERS: &[u8] = b"keepers";
    /// Prefix of the names of the workers that have the files of the archives, by which of those it
    /// is that took the crawl over (8 bytes).
    pub const KEEPER: &[u8] = b"keeper/";
    /// Set while what was lost with disks is being put back; the row says how far that is.
    pub const LOSING: &[u8] = b"losing";
    /// Present from when others have committed since this disk was written to until its next files
    /// have numbers of their own.
    pub const TAKEN_OVER: &[u8] = b"taken-over";
    /// Which numbers of files belong to files on other disks.
    pub const OTHERS: &[u8] = b"others";
    /// How many shards the crawl has and which this is, if there are several.
    pub const SHARDS: &[u8] = b"shards";
    /// Prefix of what was sent to other shards, by the number of the shard (2 bytes); the row has
    /// the number of the last message, and that up to which they are no longer in the outbox.
    pub const SENT: &[u8] = b"sent/";
    /// Prefix of the number of the last message of another shard that was taken in, by the number
    /// of the shard (2 bytes).
    pub const RECEIVED: &[u8] = b"received/";
    /// Prefix of the URLs of pages of other shards that lead to URLs of this one, by URL id (16
    /// bytes).
    pub const FOREIGN_PAGE: &[u8] = b"foreign-page/";
    /// Position in the list of seeds of a crawl of several shards up to which this one has admitted
    /// them (a number).
    pub const SEEDS_THROUGH: &[u8] = b"seeds-through";
    /// What the last entry of that list did that let something come back.
    pub const BROUGHT_BACK: &[u8] = b"brought-back";
    /// Prefix of the originals of other shards that pages of this one repeat, by document (8
    /// bytes).
    pub const FOREIGN_ORIGINAL: &[u8] = b"foreign-original/";
    /// Prefix of what pages of their own are the same as, of which another shard had committed one
    /// before either could know, by URL id (16 bytes).
    pub const RACED: &[u8] = b"raced/";
    /// Prefix of the same by the document of the other shard (8 bytes), then by URL id (16 bytes).
    pub const RACED_WITH: &[u8] = b"raced-with/";
    /// How far this shard has heard what others tell of their documents, as a position in what all
    /// tell.
    pub const HEARD: &[u8] = b"heard";
    /// Which bulletins stood at some of these positions.
    pub const HEARD_MARKS: &[u8] = b"heard-marks";
    /// The settings of the last run, to detect changes.
    pub const SETTINGS: &[u8] = b"settings";
    /// Present while every visited page has its row in `Revisits`.
    pub const REVISITS: &[u8] = b"revisits";
    /// The seed of the hash functions of fingerprints, drawn once unless it was set.
    pub const SEED: &[u8] = b"seed";
    /// What the fingerprints of this crawl are made of.
    pub const FEATURES: &[u8] = b"features";
    /// How far the fingerprints were made again, while that is going on.
    pub const REFINGERPRINT: &[u8] = b"refingerprint";
    /// What the canonical form of URLs depends on in this crawl, as text.
    pub const URL_FORM: &[u8] = b"url-form";
    /// Prefix of the WARC files of earlier crawls that were read; the row says how far.
    pub const KNOWN: &[u8] = b"known/";
    /// Prefix of the WARC files of earlier crawls that pages are compared with, by name; the row
    /// says where the file is and how far it was read.
    pub const EARLIER_FILE: &[u8] = b"earlier/file/";
    /// Prefix of the names of these files, by number (4 bytes).
    pub const EARLIER_NAME: &[u8] = b"earlier/name/";
    /// Set from the beginning of a repair to its end; the row is the key of the page to go on with.
    pub const REPAIR: &[u8] = b"repair";
    /// Prefix of the clusters whose original is gone, by its document (8 bytes); the row says what
    /// is to be done.
    pub const ORPHANED: &[u8] = b"orphaned/";
    /// Prefix of the clusters without an original whose best member is being revisited as its
    /// successor, by the document of the original (8 bytes); the row says which member.
    pub const ASKED: &[u8] = b"asked/";
    /// Prefix of the expired documents: bitmaps, by document number divided by 32,768.
    pub const RETIRED: &[u8] = b"retired/";
    /// Number of URLs that are deferred.
    pub const DEFERRED: &[u8] = b"deferred";
    /// Bytes that did not have to be stored, by tier, in a crawl that has counted them from the
    /// beginning.
    pub const SAVED: &[u8] = b"saved";
    /// Prefix of the pages that were being read when a process died, by URL id (16 bytes); the row
    /// says how often.
    pub const DEATHS: &[u8] = b"deaths/";
    /// Prefix of what converters made of documents, by URL id (16 bytes).
    pub const CONVERTED: &[u8] = b"converted/";
    /// Prefix of what was left out, by reason.
    pub const LEFT_OUT: &[u8] = b"left-out/";
    /// Prefix of the URLs that were refused, by URL id (16 bytes).
    pub const REFUSED: &[u8] = b"refused/";
    /// Prefix of the seeds that gave nothing, by URL id (16 bytes).
    pub const LOST: &[u8] = b"lost/";
    /// Prefix of the hosts whose robots.txt was not asked for, or not where it was redirected to,
    /// because the settings of the run did not allow it, by host.
    pub const ROBOTS_REFUSED: &[u8] = b"robots-refused/";
    /// Present once the rows of `Robots` were searched for what versions before wrote of such
    /// hosts.
    pub const ROBOTS_SEARCHED: &[u8] = b"robots-searched";
    /// Set from a change of settings that lets the crawl go further until the links of all stored
    /// pages were read again; the row is the key of the page to go on with.
    pub const WIDEN: &[u8] = b"widen";
    /// What a person had forgotten by rule: hosts and prefixes.
    pub const FORGOTTEN: &[u8] = b"forgotten";
    /// Prefix of the URLs that were forgotten, by URL id (16 bytes); the row says when.
    pub const FORGOTTEN_URL: &[u8] = b"forgotten/";
    /// What is being forgotten, until that is done.
    pub const FORGETTING: &[u8] = b"forgetting";
    /// Prefix of the pages that are judged again because what they repeat is being forgotten, by
    /// URL id (16 bytes).
    pub const ORPHAN_PAGE: &[u8] = b"orphan-page/";
    /// Prefix of what is to be overwritten in files, by the kind of file, its name and the offset.
    pub const ERASE: &[u8] = b"erase/";
    /// Prefix of the visits whose bodies are to be overwritten in packs, by the id of their records
    /// (16 bytes), until that is done.
    pub const ERASE_VISIT: &[u8] = b"erase-visit/";
    /// Prefix of the hosts that a person holds, by host; the row says since when.
    pub const HELD_HOST: &[u8] = b"held-host/";
    /// Prefix of the hosts at private addresses that the user gave as seeds.
    pub const CONSENT: &[u8] = b"consent/";
    /// Prefix of what holds for single seeds and what is found from them, by URL id (16 bytes).
    pub const SEED_SETTINGS: &[u8] = b"seed/settings/";
    /// Prefix of the seeds with settings from which URLs were found, by the URL's id (16 bytes);
    /// the row is the id of the seed.
    pub const SEED_OF: &[u8] = b"seed/of/";
    /// Prefix of the same of what robots.txt of a host names, by host.
    pub const SEED_OF_HOST: &[u8] = b"seed/of-host/";
    /// Prefix of the seeds without a scheme whose host was not reached yet: host, NUL, URL id (16
    /// bytes); the row is the URL.
    pub const BARE_SEED: &[u8] = b"seed/bare/";
}

/// Stands for all other shards where a number of one is meant: what is told to everybody.
pub const ALL: u16 = u16::MAX;

/// Returns the key of what a page turned out to be the same as.
pub fn raced(id: &[u8; 16]) -> Vec<u8> {
    [meta::RACED, id].concat()
}

/// Returns the key that leads from a document of another shard to a page that is the same as it.
pub fn raced_with(document: u64, id: &[u8; 16]) -> Vec<u8> {
    [&by_document(meta::RACED_WITH, document)[..], id].concat()
}

/// Returns the page of a key made by [`raced_with`], or `None` if it is not one.
pub fn parse_raced_with(key: &[u8]) -> Option<[u8; 16]> {
    let rest = key.strip_prefix(meta::RACED_WITH)?;
    rest.get(size_of::<u64>()..)?.try_into().ok()
}

/// Returns the key of the numbers of what was sent to a shard.
pub fn sent(to: u16) -> Vec<u8> {
    [meta::SENT, &to.to_be_bytes()].concat()
}

/// Returns the key of the number of what was received from a shard.
pub fn received(from: u16) -> Vec<u8> {
    [meta::RECEIVED, &from.to_be_bytes()].concat()
}

/// Key of a visit whose bodies are to be overwritten in packs, by the id of its record.
pub fn erase_visit(record: &[u8; 16]) -> Vec<u8> {
    [meta::ERASE_VISIT, record].concat()
}

/// Returns the key of the URL of a page of another shard.
pub fn foreign_page(id: &[u8; 16]) -> Vec<u8> {
    [meta::FOREIGN_PAGE, id].concat()
}

/// Returns the key of a message to another shard.
pub fn outbox(to: u16, number: u64) -> Vec<u8> {
    [&outbox_to(to)[..], &number.to_be_bytes()].concat()
}

/// Returns the prefix of the messages to another shard.
pub fn outbox_to(to: u16) -> Vec<u8> {
    to.to_be_bytes().to_vec()
}

/// Returns the number of a message by its key, or `None` if it is not one.
pub fn parse_outbox(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(2..)?.try_into().ok()?))
}

/// Returns the key of a row of `Meta` about a document.
pub fn by_document(prefix: &[u8], document: u64) -> Vec<u8> {
    [prefix, &document.to_be_bytes()].concat()
}

/// Returns the key of the row about a WARC file of an earlier crawl.
pub fn earlier_file(name: &str) -> Vec<u8> {
    [meta::EARLIER_FILE, name.as_bytes()].concat()
}

/// Returns the key of the name of a WARC file of an earlier crawl.
pub fn earlier_name(number: u32) -> Vec<u8> {
    [meta::EARLIER_NAME, &number.to_be_bytes()].concat()
}

/// Returns the key of the row that says that a host is held.
pub fn held_host(host: &str) -> Vec<u8> {
    [meta::HELD_HOST, host.as_bytes()].concat()
}

/// Returns the key of the row that says that the robots.txt of a host was refused.
pub fn robots_refused(host: &str) -> Vec<u8> {
    [meta::ROBOTS_REFUSED, host.as_bytes()].concat()
}

/// Returns the key of what a converter made of a document.
pub fn converted(id: &[u8; 16]) -> Vec<u8> {
    [meta::CONVERTED, id].concat()
}

/// Returns the key of the settings of a seed.
pub fn seed_settings(id: &[u8; 16]) -> Vec<u8> {
    [meta::SEED_SETTINGS, id].concat()
}

/// Returns the key of the seed from which a URL was found.
pub fn seed_of(id: &[u8; 16]) -> Vec<u8> {
    [meta::SEED_OF, id].concat()
}

/// Returns the key of the seed to which the sitemaps of a host belong.
pub fn seed_of_host(host: &str) -> Vec<u8> {
    [meta::SEED_OF_HOST, host.as_bytes()].concat()
}

/// Returns the prefix of the seeds without a scheme of a host.
pub fn bare_seeds(host: &str) -> Vec<u8> {
    [meta::BARE_SEED, host.as_bytes(), &[0]].concat()
}

/// Returns the key of a seed without a scheme.
pub fn bare_seed(host: &str, id: &[u8; 16]) -> Vec<u8> {
    [&bare_seeds(host)[..], id].concat()
}

/// Returns the key of a body that no record has yet.
pub fn unpacked(id: &[u8; 16]) -> Vec<u8> {
    [meta::UNPACKED, id].concat()
}

/// Returns the key of the number of times that a process died while a page was read.
pub fn deaths(id: &[u8; 16]) -> Vec<u8> {
    [meta::DEATHS, id].concat()
}

/// Returns the document of a key made by [`by_document`], or `None` if it is not one.
pub fn parse_by_document(prefix: &[u8], key: &[u8]) -> Option<u64> {
    let document = key.strip_prefix(prefix)?.try_into().ok()?;
    Some(u64::from_be_bytes(document))
}

/// Returns the key of a block of queued URLs. `sequence` is that of its last URL.
pub fn queue(host: &str, class: u8, sequence: u64) -> Vec<u8> {
    let mut key = queue_class(host, class);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// Returns the prefix of a host's queue.
pub fn queue_host(host: &str) -> Vec<u8> {
    [host.as_bytes(), &[0]].concat()
}

/// Returns the prefix of one class of a host's queue.
pub fn queue_class(host: &str, class: u8) -> Vec<u8> {
    // No host key contains a NUL, so the rows of two hosts never mix.
    let mut key = Vec::with_capacity(host.len() + 10);
    key.extend_from_slice(host.as_bytes());
    key.push(0);
    key.push(class);
    key
}

/// Returns host, class and sequence of a queue key, or `None` if it is not one.
pub fn parse_queue(key: &[u8]) -> Option<(&str, u8, u64)> {
    let (rest, sequence) = key.split_last_chunk::<8>()?;
    let (class, rest) = rest.split_last()?;
    let host = rest.strip_suffix(&[0])?;
    Some((
        std::str::from_utf8(host).ok()?,
        *class,
        u64::from_be_bytes(*sequence),
    ))
}

/// Returns the key of a host that waits until `due` (ms since 1970).
pub fn due(due: u64, host: &str) -> Vec<u8> {
    let mut key = due.to_be_bytes().to_vec();
    key.extend_from_slice(host.as_bytes());
    key
}

/// Returns due time and host of a key made by [`due`], or `None` if it is not one.
pub fn parse_due(key: &[u8]) -> Option<(u64, &str)> {
    let (due, host) = key.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*due), std::str::from_utf8(host).ok()?))
}

/// Returns the key of a page that is revisited at `due` (ms since 1970).
pub fn revisit(due: u64, id: &[u8; 16]) -> Vec<u8> {
    [&due.to_be_bytes()[..], id].concat()
}

/// Returns due time and URL id of a key made by [`revisit`], or `None` if it is not one.
pub fn parse_revisit(key: &[u8]) -> Option<(u64, [u8; 16])> {
    let (due, id) = key.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*due), id.try_into().ok()?))
}

/// Returns the key of a member of a cluster. A cluster is named by its original's document.
pub fn member(document: u64, rank: &[u8; 16], id: &[u8; 16]) -> Vec<u8> {
    [&members(document)[..], rank, id].concat()
}

/// Returns the prefix of the members of a cluster.
pub fn members(document: u64) -> Vec<u8> {
    [&document.to_be_bytes()[..], &[0]].concat()
}

/// Returns the key of a canonical vote: the member `id` names the URL `named` as canonical. The
/// votes of one `site` for one URL are neighbours.
pub fn canonical_vote(document: u64, named: &[u8; 16], site: &[u8; 8], id: &[u8; 16]) -> Vec<u8> {
    [&canonical_votes(document)[..], named, site, id].concat()
}

/// Returns the prefix of the canonical votes of a cluster.
pub fn canonical_votes(document: u64) -> Vec<u8> {
    [&document.to_be_bytes()[..], &[1]].concat()
}

/// Returns document and URL id of a member's key, or `None` if it is not one.
pub fn parse_member(key: &[u8]) -> Option<(u64, [u8; 16])> {
    let (document, rest) = key.split_first_chunk::<8>()?;
    let member = rest.strip_prefix(&[0])?.get(16..)?;
    Some((u64::from_be_bytes(*document), member.try_into().ok()?))
}

/// Returns the key that a canonical vote had while it was a page's and not its site's; `None` if
/// the key is not one of a vote.
pub fn canonical_vote_of_page(key: &[u8]) -> Option<Vec<u8>> {
    parse_canonical_vote(key)?;
    Some([key.get(..25)?, key.get(33..)?].concat())
}

/// Returns the id of the URL that a canonical vote names and the site that votes, or `None` if the
/// key is not one. In keys of earlier formats, every page counts as a site.
pub fn parse_canonical_vote(key: &[u8]) -> Option<([u8; 16], [u8; 8])> {
    let (named, rest) = key.get(8..)?.strip_prefix(&[1])?.split_first_chunk()?;
    Some((*named, *rest.first_chunk()?))
}

/// Kinds of rows of a host in `Learned`.
pub mod learned {
    /// What is known of a kind of URLs, by its number (8 bytes).
    pub const KIND: u8 = b'k';
    /// Prefix of what other sites say about a host, and it about others, by host.
    pub const HEARSAY: &[u8] = b"\0h";
    /// Prefix of the same of a domain, by domain.
    pub const HEARSAY_OF_DOMAIN: &[u8] = b"\0d";
    /// Prefix of the number of script shells that a host sent, by host.
    pub const SHELLS: &[u8] = b"\0j";
    /// Prefix of the number of requisites of a host, by host.
    pub const REQUISITES: &[u8] = b"\0q";
    /// Prefix of the same of a domain, by domain.
    pub const REQUISITES_OF_DOMAIN: &[u8] = b"\0Q";
    /// Prefix of the numbers of requisites of a page, by URL id (16 bytes).
    pub const REQUISITES_OF_PAGE: &[u8] = b"\0e";
}

/// Returns the key of a row learned of a host.
pub fn learned(host: &str, kind: u8, about: &[u8]) -> Vec<u8> {
    [host.as_bytes(), &[0, kind], about].concat()
}

/// Returns host and number of the key of a kind, or `None` if it is not one.
pub fn parse_kind(key: &[u8]) -> Option<(&str, u64)> {
    let (rest, kind) = key.split_last_chunk::<8>()?;
    let host = rest.strip_suffix(&[0, learned::KIND])?;
    Some((std::str::from_utf8(host).ok()?, u64::from_be_bytes(*kind)))
}

/// Returns the key of a deferred URL.
pub fn deferred(host: &str, kind: u64, shelf: u8, rank: u64) -> Vec<u8> {
    let mut key = deferred_shelf(host, kind, shelf);
    key.extend_from_slice(&rank.to_be_bytes());
    key
}

/// Returns the prefix of the deferred URLs of one kind, generation and stratum.
pub fn deferred_shelf(host: &str, kind: u64, shelf: u8) -> Vec<u8> {
    let mut key = deferred_kind(host, kind);
    key.push(shelf);
    key
}

/// Returns the prefix of the deferred URLs of one kind.
pub fn deferred_kind(host: &str, kind: u64) -> Vec<u8> {
    [host.as_bytes(), &[0], &kind.to_be_bytes()].concat()
}

/// Returns host, kind, and generation with stratum, of the key of a deferred URL, or `None` if it
/// is not one.
pub fn parse_deferred(key: &[u8]) -> Option<(&str, u64, u8)> {
    let (rest, _) = key.split_last_chunk::<8>()?;
    let (shelf, rest) = rest.split_last()?;
    let (rest, kind) = rest.split_last_chunk::<8>()?;
    let host = std::str::from_utf8(rest.strip_suffix(&[0])?).ok()?;
    Some((host, u64::from_be_bytes(*kind), *shelf))
}

/// Returns the key of the counters of a domain. A host key has a scheme, so it never equals one.
pub fn domain(domain: &str) -> Vec<u8> {
    [domain.as_bytes(), &[0]].concat()
}

/// Returns the key of the template of a site, which is the prefix of all its rows.
pub fn template(site: &str) -> Vec<u8> {
    [site.as_bytes(), &[0]].concat()
}

/// Returns the key of what a commit changed of a site's template.
pub fn template_change(site: &str, sequence: u64) -> Vec<u8> {
    [&template(site)[..], &sequence.to_be_bytes()].concat()
}

/// Returns the commit of a key made by [`template_change`] with this prefix, or `None` if it is not
/// one.
pub fn parse_template_change(prefix: &[u8], key: &[u8]) -> Option<u64> {
    let sequence = key.strip_prefix(prefix)?.try_into().ok()?;
    Some(u64::from_be_bytes(sequence))
}

/// Returns the key of the lines of an original.
pub fn parts(document: u64) -> Vec<u8> {
    document.to_be_bytes().to_vec()
}

/// Prefix of the rows of pages in `Groups`.
pub const GROUPS: &[u8] = &[0];

/// Returns the key of a page's row in `Groups`.
pub fn group(id: &[u8; 16]) -> Vec<u8> {
    [&[0], &id[..]].concat()
}

/// Returns the key of the hash of a document's text without its digits.
pub fn without_digits(document: u64) -> Vec<u8> {
    [&[1], &document.to_be_bytes()[..]].concat()
}

/// Returns the prefix of the duplicates of a site that were judged before its template was known.
pub fn judged_early_at(site: u64) -> Vec<u8> {
    [&[2], &site.to_be_bytes()[..]].concat()
}

/// Returns the key of a duplicate that was judged before the template of a site was known.
pub fn judged_early(site: u64, id: &[u8; 16]) -> Vec<u8> {
    [&judged_early_at(site)[..], id].concat()
}

/// Returns the URL id of a key made by [`judged_early`], or `None` if it is not one.
pub fn parse_judged_early(key: &[u8]) -> Option<[u8; 16]> {
    key.strip_prefix(&[2])?.get(8..)?.try_into().ok()
}

/// Returns the prefix of the documents of a site that other shards were told of before its template
/// was known.
pub fn told_early_at(site: u64) -> Vec<u8> {
    [&[5], &site.to_be_bytes()[..]].concat()
}

/// Returns the key of a document that other shards were told of before the template of its site was
/// known.
pub fn told_early(site: u64, document: u64) -> Vec<u8> {
    [&told_early_at(site)[..], &document.to_be_bytes()].concat()
}

/// Returns the document of a key made by [`told_early`], or `None` if it is not one.
pub fn parse_told_early(key: &[u8]) -> Option<u64> {
    let document = key.strip_prefix(&[5])?.get(8..)?.try_into().ok()?;
    Some(u64::from_be_bytes(document))
}

/// Returns the key of a page that is visited again to see which of its lines change.
pub fn examined(id: &[u8; 16]) -> Vec<u8> {
    [&[3], &id[..]].concat()
}

/// Returns the prefix of the pages of a site that wait for what is found of lines of a class.
pub fn waiting_at(site: u64, class: [u8; 5]) -> Vec<u8> {
    [&[4], &site.to_be_bytes()[..], &class[..]].concat()
}

/// Returns the key of a page that waits for what is found of lines of a class.
pub fn waiting(site: u64, class: [u8; 5], id: &[u8; 16]) -> Vec<u8> {
    [&waiting_at(site, class)[..], id].concat()
}

/// Returns the URL id of a key made by [`waiting`], or `None` if it is not one.
pub fn parse_waiting(key: &[u8]) -> Option<[u8; 16]> {
    key.strip_prefix(&[4])?.get(13..)?.try_into().ok()
}

/// Returns the key of a commit's delta.
pub fn delta(sequence: u64) -> Vec<u8> {
    sequence.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_keys_order_by_host_class_sequence() {
        let mut keys = [
            queue("http://b", 0, 1),
            queue("http://a", 1, 1),
            queue("http://a", 0, 256),
            queue("http://a", 0, 2),
            queue("http://ab", 0, 0),
        ];
        keys.sort();
        let parsed: Vec<_> = keys.iter().map(|key| parse_queue(key).unwrap()).collect();
        assert_eq!(
            parsed,
            [
                ("http://a", 0, 2),
                ("http://a", 0, 256),
                ("http://a", 1, 1),
                ("http://ab", 0, 0),
                ("http://b", 0, 1)
            ]
        );
    }

    #[test]
    fn revisit_keys_order_by_time() {
        assert!(revisit(255, &[9; 16]) < revisit(256, &[0; 16]));
        let key = revisit(7, &[3; 16]);
        assert_eq!(parse_revisit(&key), Some((7, [3; 16])));
        assert_eq!(parse_revisit(&key[..23]), None);
    }

    #[test]
    fn clusters_order_by_document_and_members_by_rank() {
        let (good, bad) = (member(7, &[1; 16], &[9; 16]), member(7, &[2; 16], &[0; 16]));
        assert!(member(6, &[9; 16], &[9; 16]) < good && good < bad);
        let vote = canonical_vote(7, &[3; 16], &[5; 8], &[9; 16]);
        assert!(bad < vote && vote < member(8, &[0; 16], &[0; 16]));
        assert!(good.starts_with(&members(7)) && vote.starts_with(&canonical_votes(7)));
        assert_eq!(parse_member(&good), Some((7, [9; 16])));
        assert_eq!(parse_member(&vote), None);
        assert_eq!(parse_canonical_vote(&vote), Some(([3; 16], [5; 8])));
        assert_eq!(parse_canonical_vote(&good), None);
        let former = [&canonical_votes(7)[..], &[3; 16], &[9; 16]].concat();
        assert_eq!(canonical_vote_of_page(&vote), Some(former));
        assert_eq!(canonical_vote_of_page(&good), None);
    }

    #[test]
    fn deferred_keys_order_by_kind_shelf_and_rank() {
        let key = deferred("http://a", 7, 1, 5);
        assert!(deferred("http://a", 7, 0, u64::MAX) < key && key < deferred("http://a", 8, 0, 0));
        assert!(key.starts_with(&deferred_shelf("http://a", 7, 1)));
        assert_eq!(parse_deferred(&key), Some(("http://a", 7, 1)));
        assert_eq!(parse_deferred(b"short"), None);
    }

    #[test]
    fn messages_order_by_receiver_and_number() {
        assert!(outbox(1, u64::MAX) < outbox(2, 1) && outbox(2, 255) < outbox(2, 256));
        assert!(outbox(2, 1).starts_with(&outbox_to(2)));
        assert_eq!(parse_outbox(&outbox(2, 7)), Some(7));
        assert_eq!(parse_outbox(&outbox_to(2)), None);
    }

    #[test]
    fn due_keys_order_by_time() {
        assert!(due(255, "z") < due(256, "a"));
        assert_eq!(parse_due(&due(7, "http://a")), Some((7, "http://a")));
        assert_eq!(parse_due(b"short"), None);
    }
}
