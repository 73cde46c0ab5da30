// Compares a site with its archive in a browser; `replay` installs what this needs and starts it.
// Prints a line for each page, and ends with 1 if something is missing or looks otherwise.

import { execFileSync, spawn } from 'node:child_process';
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

// What the two hosts answer; what is not here is a picture.
const site = port => {
  const own = `http://${OWN}:${port}`;
  const cdn = `http://${CDN}:${port}`;
  const home = html('Home', `<link rel="stylesheet" href="/s.css?v=1&amp;utm_source=x">
    <link rel="shortcut icon" href="/icon.svg">
    <style>@import '${cdn}/cdn.css'; .x { background: url(/inline.svg); height: 20px }</style>
    </head><body><h1>Home of the site</h1><div class="x"></div>
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

const serve = async host => {
  let port = 0;
  const servers = [];
  for (const name of host) {
    const server = http.createServer((request, response) => {
      const asked = request.url.split('?')[0];
      const found = site(port)[name][asked] ?? (asked.endsWith('.svg') ? picture(request.url) : null);
      response.writeHead(found ? 200 : 404, { 'content-type': found?.[0] ?? 'text/plain' });
      response.end(found?.[1] ?? 'nothing here');
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
        url="${url.searchParams.get('url')}" style="display: block; height: ${VIEW.height}px">`);
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
const [servers, port] = await serve([OWN, CDN]);
const seed = `http://${OWN}:${port}/`;
const pages = [seed, `${seed}next`];
const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(),
  headless: 'shell',
  args: [...chromium.args, '--no-sandbox', '--lang=en-US'],
});
const live = [];
for (const url of pages) {
  live.push(await open(browser, url));
}
const crawl = ['crawl', seed, '--allow-private', '--delay', '0s', '--data-dir', `${directory}/data`];
// This process is the web, so it must not wait for the crawl.
const crawled = spawn(gleaner, [...crawl, '--set', 'crawl.requisites=all', '--quiet'], { stdio: 'ignore' });
const code = await new Promise(done => crawled.on('exit', done));
if (code !== 0) {
  throw new Error(`the crawl ended with ${code}`);
}
for (const server of servers) {
  server.closeAllConnections();
  await new Promise(done => server.close(done));
}
const warc = path.join(directory, 'data', 'warc');
const archive = path.join(warc, fs.readdirSync(warc).find(name => name.endsWith('.warc.gz')));
// The same as a package, of which the player reads what it needs.
const wacz = path.join(directory, 'all.wacz');
execFileSync(gleaner, ['export', '--format', 'wacz', '-o', wacz, '--data-dir', `${directory}/data`], { stdio: 'ignore' });
const archives = { '/archive.warc.gz': archive, '/archive.wacz': wacz };
const [playing, at] = await servePlayer(archives);
let wrong = 0;
const plays = Object.keys(archives).flatMap(source => pages.map((url, nth) => [source, nth, url]));
for (const [source, nth, url] of plays) {
  const { asked, looks } = await open(browser,
    `http://127.0.0.1:${at}/?source=${source}&url=${encodeURIComponent(url)}`);
  // The player asks itself whether it knows the archive; that it does not yet is no loss.
  const missing = asked.filter(([it, status]) =>
    !(status >= 200 && status < 400) && !it.includes('/replay/w/api/') && !it.endsWith('/favicon.ico'));
  const replayed = asked.filter(([it]) => /\/replay\/w\/[^/]+\/(:[^/]+\/)?\d*[a-z]*_\//.test(it)).length;
  const isSame = looks.equals(live[nth].looks);
  console.log(`${source} ${url}: ${replayed} files replayed, ${missing.length} not there, ` +
    `looks ${isSame ? 'the same' : 'otherwise'}`);
  missing.forEach(([it, status]) => console.log(`  ${status} ${it}`));
  if (!isSame) {
    fs.writeFileSync(path.join(directory, `live-${nth}.png`), live[nth].looks);
    fs.writeFileSync(path.join(directory, `replayed-${nth}.png`), looks);
    console.log(`  see ${directory}`);
  }
  wrong += missing.length + (isSame && replayed > 0 ? 0 : 1);
}
await browser.close();
playing.close();
if (wrong === 0) {
  fs.rmSync(directory, { recursive: true });
}
process.exit(wrong === 0 ? 0 : 1);
