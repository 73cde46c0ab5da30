//! Honest sites: each page says something of its own, and none may be lost, however much their
//! addresses look like traps.

mod boards;
mod dates;
mod hidden;
mod odd;
mod others;
mod parameters;
mod records;
pub(crate) mod shops;
mod systems;
mod trees;
mod wikis;

use super::site::Site;

/// Makes a site from a seed, at a scale.
pub(crate) type Make = fn(u64, f64) -> Site;

/// The kinds, and what makes a site of each from a seed and a scale.
pub(crate) const KINDS: &[(&str, Make)] = &[
    ("board", boards::board),
    ("phpbb", boards::phpbb),
    ("read-php", boards::read),
    ("comic", dates::comic),
    ("comic-numbers", dates::comic_numbers),
    ("sitemap", dates::sitemap),
    ("blog", dates::blog),
    ("news-path", |seed, scale| dates::newspaper(seed, scale, 0)),
    ("news-iso", |seed, scale| dates::newspaper(seed, scale, 1)),
    ("news-query", |seed, scale| dates::newspaper(seed, scale, 2)),
    ("news-day-first", |seed, scale| {
        dates::newspaper(seed, scale, 3)
    }),
    ("news-named", |seed, scale| dates::newspaper(seed, scale, 4)),
    ("calendar", dates::calendar),
    ("sold-out", shops::sold_out),
    ("facets", shops::facets),
    ("session-links", shops::session_links),
    ("param-rare", parameters::rare),
    ("param-late", parameters::late),
    ("www", parameters::www),
    ("gallery", trees::gallery),
    ("tree", trees::tree),
    ("shells", trees::shells),
    ("api", trees::api),
    ("one-list", trees::one_list),
    ("manual", wikis::manual),
    ("languages", wikis::languages),
    ("wiki", wikis::wiki),
    ("wordpress", wikis::wordpress),
    ("hex-ids", others::hex_ids),
    ("cursor", others::cursor),
    ("repository", others::repository),
    ("weather", others::weather),
    ("profiles", others::profiles),
    ("views", others::views),
    ("discourse", systems::discourse),
    ("drupal", systems::drupal),
    ("shopify", systems::shopify),
    ("gitlab", systems::gitlab),
    ("dspace", systems::dspace),
    ("gaps", records::gaps),
    ("museum", records::museum),
    ("observations", records::stations),
    ("parliament", records::parliament),
    ("genealogy", records::genealogy),
    ("chess", records::chess),
    ("ephemeris", records::ephemeris),
    ("dictionary", records::dictionary),
    ("uuids", hidden::uuids),
    ("base64", hidden::base64),
    ("busted-chain", hidden::busted_chain),
    ("tag-only", hidden::tag_only),
    ("few-events", hidden::few_events),
    ("stubs-first", hidden::stubs_first),
    ("one-liners", hidden::one_liners),
    ("states", hidden::states),
    ("api-versions", hidden::api_versions),
    ("live", odd::live),
    ("shifting", odd::shifting),
    ("known-names", odd::known_names),
    ("print-only", odd::print_only),
    ("chosen-language", odd::chosen_language),
    ("capped-orders", odd::capped_orders),
    ("search-only", odd::search_only),
    ("empty-folders", odd::empty_folders),
    ("shuffled", odd::shuffled),
    ("divisors", odd::divisors),
    ("windows", odd::windows),
];
