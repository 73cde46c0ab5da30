// Compares a site with its archive in a browser; `replay` installs what this needs and starts it. The
// site is crawled twice: what is unchanged then is in the archive of the first crawl only.
// Prints a line for each page, and ends with 1 if something is missing or looks otherwise.

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const [gleaner, player] = process.argv.slice(2);
const OWN = '127.0.7.1';
const CDN = '127.0.7.2';
const VIEW = { width: 900, height: 700 };

// A picture of one colour, different for each name.
const picture = name => {
  const number = [...name].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 360, 7);
  return ['image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">` +
    `<rect width="20" height="20" fill="hsl(${number},90%,50%)"/></svg>`];
};
const html = (title, markup) => ['text/html; charset=utf-8',
  `<!doctype html><html><head><meta charset="utf-8"><title>${title}</title>${markup}</html>`];
const css = text => ['text/css', text];

// What the two hosts answer; what is not here is a picture. Later the first page is another one.
const site = (port, isLater) => {
  const own = `http://${OWN}:${port}`;
  const cdn = `http://${CDN}:${port}`;
  const home = html('Home', `<link rel="stylesheet" href="/s.css?v=1&amp;utm_source=x">
    <link rel="shortcut icon" href="/icon.svg">
    <style>@import '${cdn}/cdn.css'; .x { background: url(/inline.svg); height: 20px }</style>
    </head><body><h1>Home of the site${isLater ? ', later' : ''}</h1><div class="x"></div>
    <div class="bg">a background</div><div class="cdn">from the network</div>
    <picture><source srcset="/a.svg 1x, ${cdn}/b.svg 2x"><img src="/c.svg"></picture>
    <img src="/d.svg" srcset="/e.svg 1x, /f.svg 2x" width="50" height="50">
    <img src="${cdn}/g.svg?b=2&amp;a=1" width="30"><input type="image" src="/input.svg">
    <iframe src="${cdn}/frame" width="200" height="100"></iframe>
    <object data="${cdn}/object.svg" type="image/svg+xml"></object>
    <video src="/v.mp4" poster="/poster.svg" width="50"></video>
    <p style="background: url('/attribute.svg')">a paragraph with words</p>
    <table background="/table.svg"><tr><td>a table</td></tr></table>
    <a href="/next">next</a><script src="/s.js"></script></body>`);
  const next = html('Next', `<base href="/deep/"><link rel="icon" href="/icon.svg"></head><body>
    <h1>Next page</h1><img src="r.svg" srcset="r1.svg 100w, r2.svg 2000w" sizes="100px"></body>`);
  const frame = html('Frame', `<link rel="stylesheet" href="frame.css"></head><body>
    <p class="f">framed</p><img src="in-frame.svg"></body>`);
  return {
    [OWN]: {
      '/': home,
      '/next': next,
      '/s.css': css('@import "more/m.css"; .bg { background: url("bg.svg"); height: 20px }'),
      '/more/m.css': css('h1 { color: rgb(200, 0, 0); background: url(../h1.svg) }'),
      '/s.js': ['text/javascript', 'document.body.style.borderTop = "9px solid green";'],
      '/v.mp4': ['video/mp4', Buffer.alloc(100)],
    },
    [CDN]: {
      '/cdn.css': css(`.cdn { background: url(${own}/from-cdn.svg); height: 20px }`),
      '/frame': frame,
      '/frame.css': css('.f { background: url(frame-bg.svg) }'),
    },
  };
};

// Pages and style sheets can be asked for by what they were.
const serve = async (host, at, isLater) => {
  let port = at;
  const servers = [];
  for (const name of host) {
    const server = http.createServer((request, response) => {
      const asked = request.url.split('?')[0];
      const found = site(port, isLater)[name][asked]
        ?? (asked.endsWith('.svg') ? picture(request.url) : null);
      const tag = found?.[0].startsWith('text/') && `"${createHash('sha256').update(found[1]).digest('hex')}"`;
      if (tag && request.headers['if-none-match'] === tag) {
        response.writeHead(304, { etag: tag });
        return response.end();
      }
      response.writeHead(found ? 200 : 404, {
        'content-type': found?.[0] ?? 'text/plain',
        ...(tag ? { etag: tag } : {}),
      });
      return response.end(found?.[1] ?? 'nothing here');
    });
    await new Promise(done => server.listen(port, name, done));
    port = server.address().port;
    servers.push(server);
  }
  return [servers, port];
};

// The player, the archive and a page that shows one URL of it.
const servePlayer = async archives => {
  const types = { '.js': 'text/javascript', '.html': 'text/html' };
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    if (url.pathname === '/') {
      response.writeHead(200, { 'content-type': 'text/html' });
      return response.end(`<!doctype html><body style="margin: 0"><script src="/replay/ui.js"></script>
        <replay-web-page replayBase="/replay/" embed="replayonly" source="${url.searchParams.get('source')}"
        url="${url.searchParams.get('url')}" ts="${url.searchParams.get('ts')}" style="display: block; height: ${VIEW.height}px">`);
    }
    const local = archives[url.pathname]
      ?? path.join(player, path.normalize(url.pathname.replace(/^\/replay\//, '/')));
    if (!fs.existsSync(local) || !fs.statSync(local).isFile()) {
      response.writeHead(404);
      return response.end();
    }
    const size = fs.statSync(local).size;
    const head = {
      'content-type': types[path.extname(local)] ?? 'application/octet-stream',
      'accept-ranges': 'bytes',
    };
    const range = /bytes=(\d*)-(\d*)/.exec(request.headers.range ?? '');
    if (!range) {
      response.writeHead(200, { ...head, 'content-length': size });
      return request.method === 'HEAD' ? response.end() : fs.createReadStream(local).pipe(response);
    }
    const start = range[1] === '' ? Math.max(0, size - Number(range[2])) : Number(range[1]);
    const isOpen = range[1] === '' || range[2] === '';
    const end = isOpen ? size - 1 : Math.min(Number(range[2]), size - 1);
    response.writeHead(206, {
      ...head,
      'content-range': `bytes ${start}-${end}/${size}`,
      'content-length': end - start + 1,
    });
    return fs.createReadStream(local, { start, end }).pipe(response);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return [server, server.address().port];
};

// Opens a URL and gives back what it asked for and how it looks when nothing more comes.
const open = async (browser, url) => {
  const page = await browser.newPage();
  await page.setViewport(VIEW);
  const asked = new Map();
  page.on('response', it => asked.set(it.url(), it.status()));
  page.on('requestfailed', it => asked.has(it.url()) || asked.set(it.url(), it.failure()?.errorText));
  await page.goto(url);
  for (let quiet = 0, before = -1, turns = 0; quiet < 12 && turns < 120; turns += 1) {
    await new Promise(done => setTimeout(done, 250));
    quiet = asked.size === before ? quiet + 1 : 0;
    before = asked.size;
  }
  const looks = Buffer.from(await page.screenshot());
  await page.close();
  return { asked: [...asked], looks };
};

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'replay-'));
const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(),
  headless: 'shell',
  args: [...chromium.args, '--no-sandbox', '--lang=en-US'],
});

// Looks at the site and crawls it; gives back what the pages look like, and when they were crawled.
const crawl = async (port, isLater, name, options) => {
  const [servers, at] = await serve([OWN, CDN], port, isLater);
  const seed = `http://${OWN}:${at}/`;
  const looks = {};
  for (const url of [seed, `${seed}next`]) {
    looks[url] = (await open(browser, url)).looks;
  }
  const data = path.join(directory, name);
  const arguments_ = ['crawl', seed, '--allow-private', '--delay', '0s', '--data-dir', data, '--quiet',
    '--set', 'crawl.requisites=all', ...options];
  // This process is the web, so it must not wait for the crawl.
  const crawled = spawn(gleaner, arguments_, { stdio: 'ignore' });
  const code = await new Promise(done => crawled.on('exit', done));
  if (code !== 0) {
    throw new Error(`the crawl ended with ${code}`);
  }
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise(done => server.close(done));
  }
  const lines = execFileSync(gleaner, ['pages', '--no-text', '--data-dir', data]).toString().trim();
  const told = lines.split('\n').map(line => JSON.parse(line)).filter(page => page.url in looks);
  const pages = told.map(page => ({
    url: page.url,
    ts: page.time.replace(/\D/g, '').slice(0, 14),
    looks: looks[page.url],
    isUnchanged: 'unchanged_since' in page,
  }));
  return { data, port: at, pages };
};

const wacz = (name, ...options) => {
  const file = path.join(directory, name);
  execFileSync(gleaner, ['export', '--format', 'wacz', '-o', file, ...options], { stdio: 'ignore' });
  return file;
};

const first = await crawl(0, false, 'first', []);
// Players tell captures apart by the second.
await new Promise(done => setTimeout(done, 1100));
const second = await crawl(first.port, true, 'second', ['--since', first.data]);
const unchanged = second.pages.filter(page => page.isUnchanged).length;
const warc = path.join(first.data, 'warc');
const archives = {
  '/first.warc.gz': path.join(warc, fs.readdirSync(warc).find(name => name.endsWith('.warc.gz'))),
  // The same as a package, of which the player reads what it needs.
  '/first.wacz': wacz('first.wacz', '--data-dir', first.data),
  '/both.wacz': wacz('both.wacz', '--data-dir', first.data, second.data),
};
// A package for each crawl, and the list of both.
wacz('apart.wacz', '--data-dir', first.data, second.data, '--max-size', '1B');
for (const name of ['apart.json', 'apart-00000.wacz', 'apart-00001.wacz']) {
  archives[`/${name}`] = path.join(directory, name);
}
const both = [...first.pages, ...second.pages];
const plays = [
  ['/first.warc.gz', first.pages],
  ['/first.wacz', first.pages],
  ['/both.wacz', both],
  ['/apart.json', both],
];
const [playing, at] = await servePlayer(archives);
let wrong = 0;
for (const [source, pages] of plays) {
  for (const { url, ts, looks: live } of pages) {
    const query = `source=${source}&ts=${ts}&url=${encodeURIComponent(url)}`;
    const { asked, looks } = await open(browser, `http://127.0.0.1:${at}/?${query}`);
    // The player asks itself whether it knows the archive; that it does not yet is no loss.
    const missing = asked.filter(([it, status]) =>
      !(status >= 200 && status < 400) && !it.includes('/replay/w/api/') && !it.endsWith('/favicon.ico'));
    const replayed = asked.filter(([it]) => /\/replay\/w\/[^/]+\/(:[^/]+\/)?\d*[a-z]*_\//.test(it)).length;
    const isSame = looks.equals(live);
    console.log(`${source} ${ts} ${url}: ${replayed} files replayed, ${missing.length} not there, ` +
      `looks ${isSame ? 'the same' : 'otherwise'}`);
    missing.forEach(([it, status]) => console.log(`  ${status} ${it}`));
    if (!isSame) {
      const name = `${source.slice(1)}-${ts}-${url.endsWith('next') ? 'next' : 'home'}`;
      fs.writeFileSync(path.join(directory, `${name}-live.png`), live);
      fs.writeFileSync(path.join(directory, `${name}.png`), looks);
      console.log(`  see ${directory}`);
    }
    wrong += missing.length + (isSame && replayed > 0 ? 0 : 1);
  }
}
if (unchanged !== 1) {
  console.log(`${unchanged} pages were unchanged since the first crawl, and not 1`);
  wrong += 1;
}
await browser.close();
playing.close();
if (wrong === 0) {
  fs.rmSync(directory, { recursive: true });
}
process.exit(wrong === 0 ? 0 : 1);
