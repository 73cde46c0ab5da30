//! What entering costs of links that another shard of the crawl has found.

use std::path::Path;
use std::thread;

use futures_util::future::join_all;
use gleaner::engine::exchange::{Parcel, Post};
use gleaner::engine::{Options, ShardOptions};
use gleaner::frontier::{QueuedUrl, Shards};
use gleaner::rows::{Sent, SentLink, SentOrigin};
use gleaner::store::encode;
use gleaner::url::{Canonicalizer, HostKey, Identity, Secret, parse};
use gleaner::{Crawl, RunLimits, StopHandle};

use crate::measure::Meter;
use crate::urls::url;

/// Links of a parcel.
const PARCEL: usize = 400;
/// Parcels that are handed in together, as those are that have arrived.
const TOGETHER: usize = 16;

/// Hands in `links` links of another shard, at `hosts` hosts, while no visits are made, and the
/// same once more; returns how many of them wait.
pub(crate) fn exchange(
    directory: &Path,
    mut options: Options,
    (links, hosts): (u64, u64),
    say: &dyn Fn(&str),
) -> u64 {
    let shards = Shards::new(0, 2).expect("there are two");
    let secret = Secret::from_bytes([23; Secret::LEN]);
    let identity = Identity::new(Canonicalizer::default(), secret.clone());
    options.shard = Some(ShardOptions { shards, secret });
    let crawl = Crawl::open(directory, options).expect("the directory is ours");
    let post = crawl.post().expect("there is another shard");
    let (control, watch) = (crawl.control(), crawl.watch());
    let stop = StopHandle::new();
    let running = {
        let stop = stop.clone();
        thread::spawn(move || crawl.run_blocking(&RunLimits::default(), &stop))
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a thread can wait");
    runtime
        .block_on(control.pause())
        .expect("the crawl has just begun");

    let rows = (0..).filter_map(|number| row(&identity, shards, number, hosts));
    let rows: Vec<Vec<u8>> = rows.take(links as usize).collect();
    for (turn, what) in ["new", "known"].into_iter().enumerate() {
        let mut first = 1 + turn as u64 * links;
        let parcels = rows.chunks(PARCEL).map(|rows| {
            let parcel = Parcel {
                from: 1,
                to: 0,
                first,
                gone: 0,
                rows: rows.to_vec(),
            };
            first += rows.len() as u64;
            parcel
        });
        let parcels: Vec<Parcel> = parcels.collect();
        let meter = Meter::start();
        runtime.block_on(hand_in(&post, &parcels));
        let micros = meter.micros(links);
        say(&format!(
            "{links} links of another shard, {what}: {micros:.2} us of processors' time each, {:.0} \
             a second of one core",
            1e6 / micros
        ));
    }
    let queued = watch.counters().queued;
    stop.stop();
    let ended = running.join().expect("it does not panic");
    ended.expect("the disk has room");
    queued
}

/// The row of a link that belongs to this shard; `None` if it belongs to the other one. Twenty
/// links are of one page.
fn row(identity: &Identity, shards: Shards, number: u64, hosts: u64) -> Option<Vec<u8>> {
    let url = parse(&url(number, hosts)).expect("a URL");
    if !shards.is_own(&HostKey::of(&url)) {
        return None;
    }
    let page = parse(&format!("https://elsewhere.example/{}", number / 20)).expect("a URL");
    let via = identity.id(&page);
    let queued = QueuedUrl {
        via: Some(via),
        depth: 1,
        path: "L".to_owned(),
        ..QueuedUrl::new(url.to_string(), identity.id(&url))
    };
    Some(encode(&Sent::Link(Box::new(SentLink {
        queued,
        origin: SentOrigin::Link,
        by: None,
        pages: vec![(via, page.to_string())],
        seed: None,
    }))))
}

async fn hand_in(post: &Post, parcels: &[Parcel]) {
    for parcels in parcels.chunks(TOGETHER) {
        let committed = join_all(parcels.iter().map(|it| post.hand_in(it))).await;
        for (parcel, through) in parcels.iter().zip(committed) {
            // Several share a commit.
            let through = through.expect("the shard runs");
            assert!(
                through >= parcel.through(),
                "{through} of {}",
                parcel.through()
            );
        }
    }
}
