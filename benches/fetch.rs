//! What a fetch costs beside a bare GET of the same URL by the same library, in one run: `cargo
//! bench --bench fetch`. CPU time of the one thread that the client has, so that neither the server
//! nor who waits for whom counts; the bound on the ratio is that of the design. On one core: to
//! wake a server on another one that sleeps costs more than the request.

#![expect(clippy::print_stdout, reason = "it reports to whoever runs it")]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gleaner::fetch::{FetchOptions, Fetcher, Guard, Outcome};
use gleaner::url::parse;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Runtime;

/// CPU of a fetch, in that of a bare GET, at most.
const BOUND: f64 = 1.5;
/// Requests of a round, and rounds of each; the cheapest round counts.
const REQUESTS: u32 = 1_000;
const ROUNDS: usize = 9;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let mut core = CpuSet::new();
    core.set(0);
    sched_setaffinity(None, &core).expect("there is a first core");
    // Ours brings its own; the bare client takes the one of the process.
    let provider = rustls::crypto::ring::default_provider();
    assert!(provider.install_default().is_ok(), "nobody did so before");
    let address = serve();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a thread can have a reactor");
    for (what, path) in [("1 kB", "/1"), ("20 kB", "/20"), ("200 kB", "/200")] {
        measure(&runtime, what, &format!("http://{address}{path}"));
    }
}

fn measure(runtime: &Runtime, what: &str, url: &str) {
    let options = FetchOptions {
        allow_private: true,
        ..FetchOptions::new("bench/1.0 (+https://example.org)")
    };
    let guard = Arc::new(Guard::new(&options));
    let fetcher = Fetcher::new(options, guard).expect("the options are sound");
    let bare = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let parsed = parse(url).expect("a URL");
    let fetch = async || match fetcher.fetch(&parsed).await {
        (Outcome::Exchange(exchange), _) => exchange.body.len(),
        (Outcome::Failed(failure), _) => panic!("{failure:?}"),
    };
    #[expect(clippy::disallowed_methods, reason = "a bare GET, for comparison")]
    let get = async || {
        let response = bare.get(url).send().await.expect("an answer");
        response.bytes().await.expect("a body").len()
    };
    assert_eq!(
        runtime.block_on(fetch()),
        runtime.block_on(get()),
        "the same body"
    );
    // In turns, so that what disturbs one disturbs the other.
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(cpu(|| {
            runtime.block_on(async {
                for _ in 0..REQUESTS {
                    black_box(fetch().await);
                }
            });
        }));
        theirs = theirs.min(cpu(|| {
            runtime.block_on(async {
                for _ in 0..REQUESTS {
                    black_box(get().await);
                }
            });
        }));
    }
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let mark = if ratio <= BOUND { "" } else { "  OVER" };
    println!(
        "{what:>7}: a fetch {:.1?}, a bare GET {:.1?}, ratio {ratio:.2} of {BOUND}{mark}",
        ours / REQUESTS,
        theirs / REQUESTS
    );
}

/// CPU time that this thread takes for some work.
fn cpu(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(
            time.tv_sec.unsigned_abs(),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        )
    };
    let before = now();
    work();
    now().saturating_sub(before)
}

/// A server of pages of so many kilobytes as the path says, on threads of its own.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || converse(&stream));
        }
    });
    address
}

fn converse(mut stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut kilobytes = 0;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if let Some(path) = line.strip_prefix("GET /") {
            kilobytes = path
                .split(' ')
                .next()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
        }
        if line.is_empty() {
            let body = "x".repeat(kilobytes * 1_000);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nserver: bench\r\n\
                 etag: \"1\"\r\ncache-control: max-age=60\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            if stream
                .write_all(&[head.as_bytes(), body.as_bytes()].concat())
                .is_err()
            {
                return;
            }
        }
    }
}
