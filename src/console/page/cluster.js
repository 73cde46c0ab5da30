// The page of a worker: how the cluster stands that it belongs to, as this worker sees it. It takes
// the place of all others, which are about one crawl in one directory.

import { html, useEffect } from './preact.js';
import { useAnswer } from './api.js';
import { count, NONE, number, plain, rate, short, size, words } from './format.js';
import { Badge, Brand, Card, Command, Empty, Missing } from './parts.js';

const shardOf = (number) => String(number).padStart(2, '0');

// How a cluster stands, in a word.
function standing(now, error) {
  if (error) return ['bad', 'No answer'];
  if (now.is_engine_away) return ['bad', 'Engine away'];
  if (now.is_over) return ['idle', 'Over'];
  if (now.going !== 'running') return ['idle', words(now.going)];
  const running = now.stays ? 'Running until stopped' : 'Running';
  return [now.attention.length > 0 ? 'warn' : 'good', running];
}

function Figure({ name, value, note }) {
  return html`<div class="key"><span class="keyname">${name}</span><span class="keyvalue">${value}</span>
    ${note && html`<small>${note}</small>`}</div>`;
}

function Figures({ now }) {
  const { sum, links } = now;
  const alive = now.workers.filter((it) => it.is_alive).length;
  const owned = now.shards.filter((it) => it.is_owned).length;
  return html`<section class="keys" aria-label="Counters of all shards">
    <${Figure} name="pages" value=${number(sum.pages)} note=${rate(now.pages_per_second)} />
    <${Figure} name="unique" value=${number(sum.unique)} note=${`${count(sum.duplicates, 'duplicate')} of a page of the shard`} />
    <${Figure} name="queued" value=${number(sum.queued)} note=${`${number(sum.fetching)} in progress`} />
    <${Figure} name="links sent" value=${short(links.sent)} note=${`${number(links.waiting)} on their way`} />
    <${Figure} name="received" value=${size(sum.bytes)} note=${`of ${number(sum.hosts)} hosts`} />
    <${Figure} name="workers" value=${`${alive} of ${now.workers.length}`} note=${`${owned} of ${now.shards.length} shards owned`} />
    <${Figure} name="take-overs" value=${number(now.take_overs)} note="since the processes began" />
  </section>`;
}

// Workers end when nothing is left.
function stateOf(worker, isOver) {
  const hasEnded = isOver || (worker.is_leaving && !worker.is_drained);
  if (!worker.is_alive) return hasEnded ? ['good', 'ended'] : ['bad', 'gone'];
  if (worker.is_drained) return ['warn', worker.owns.length > 0 ? 'being drained' : 'drained'];
  return worker.is_leaving ? ['warn', 'leaving'] : ['good', 'alive'];
}

// By how much a clock is off: less than two seconds is within what the beats explain.
function clockOf(seconds) {
  if (typeof seconds !== 'number') return NONE;
  return Math.abs(seconds) < 2 ? 'right' : `${seconds > 0 ? '+' : '−'}${Math.abs(seconds).toFixed(0)} s`;
}

function Workers({ now }) {
  const list = (shards) => (shards.length > 0 ? shards.map(shardOf).join(' ') : NONE);
  return html`<${Card} title="Workers" wide=${true} says=${`as ${plain(now.worker)} sees them`}>
    <div class="scroll"><table class="plain stack"><thead><tr><th scope="col">worker</th><th scope="col">machine</th>
      <th scope="col">owns</th><th scope="col">has copies of</th><th scope="col" class="n">pages</th>
      <th scope="col" class="n">clock</th><th scope="col">state</th></tr></thead>
      <tbody>${now.workers.map((it) => html`<tr key=${it.name}><th scope="row">${plain(it.name)}${it.name === now.worker && html` <small>this one</small>`}</th>
        <td data-name="machine">${plain(it.machine)}</td>
        <td data-name="owns">${list(it.owns)}${it.max_shards !== null && html` <small>of ${it.max_shards} at most</small>`}</td>
        <td data-name="copies">${list(it.follows)}</td>
        <td class="n" data-name="pages">${it.is_alive ? rate(it.pages_per_second) : NONE}</td>
        <td class="n" data-name="clock">${clockOf(it.clock_seconds)}</td>
        <td><${Badge} level=${stateOf(it, now.is_over)[0]}>${stateOf(it, now.is_over)[1]}<//></td></tr>`)}</tbody></table></div><//>`;
}

function Copies({ copies, isOver }) {
  if (copies.length === 0) return html`<span class="muted">none</span>`;
  return copies.map((it, index) => html`<span key=${it.worker}>${index > 0 && ', '}${plain(it.worker)} <small>
    ${it.is_alive || isOver ? (it.lag > 0 ? `${number(it.lag)} behind` : 'has all') : 'gone'}</small></span>`);
}

function Shards({ now }) {
  return html`<${Card} title="Shards" wide=${true} says=${`${now.copies} copies of each, on different machines`} command=${now.command}>
    <div class="scroll"><table class="plain stack"><thead><tr><th scope="col">shard</th><th scope="col">owner</th>
      <th scope="col" class="n" title="how many owners it has had">epoch</th><th scope="col" class="n">pages</th><th scope="col" class="n">queued</th>
      <th scope="col" class="n" title="to other shards">links sent</th><th scope="col" class="n">on their way</th><th scope="col">copies</th><th scope="col">limit</th></tr></thead>
      <tbody>${now.shards.map((it) => html`<tr key=${it.shard}><th scope="row">${shardOf(it.shard)}</th>
        <td data-name="owner">${it.is_owned || (now.is_over && it.owner) ? plain(it.owner) : html`<${Badge} level="bad">${it.owner ? `${plain(it.owner)} is gone` : 'nobody'}<//>`}</td>
        <td class="n" data-name="epoch">${number(it.epoch)}</td><td class="n" data-name="pages">${number(it.pages)}</td>
        <td class="n" data-name="queued">${number(it.queued)}</td><td class="n" data-name="links sent">${number(it.links.sent)}</td>
        <td class="n" data-name="on their way">${number(it.links.waiting)}</td><td data-name="copies"><${Copies} copies=${it.copies} isOver=${now.is_over} /></td>
        <td>${it.is_done ? html`<${Badge} level="idle">done<//>` : words(it.limit)}</td></tr>`)}</tbody></table></div><//>`;
}

// What needs attention, as `gleaner cluster status` says it.
function Attention({ now }) {
  if (now.attention.length === 0) return null;
  return html`<${Card} title="Needs attention" wide=${true} command=${`${now.command} --check`}>
    <ul class="plainlist">${now.attention.map((said) => html`<li key=${said}>${plain(said)}</li>`)}</ul><//>`;
}

export function ClusterPage() {
  const answer = useAnswer('workers', {}, 1_000);
  const now = answer.data;
  const [level, name] = now ? standing(now, answer.error) : ['idle', 'Opening'];
  useEffect(() => {
    const mark = { good: '', idle: '⏸ ', warn: '⚠ ', bad: '⚠ ' }[level];
    document.title = `${mark}Cluster – gleaner`;
  }, [level]);
  return html`<header class="top"><div class="band"><${Brand} /><nav aria-label="Pages"><a href="#/" aria-current="page">Cluster</a></nav></div>
    <div class="band state"><h1 class="unseen">Cluster</h1>
      <p class="now"><${Badge} level=${level}>${name}<//>${now && html`<span>${plain(now.name)}</span>`}</p>
      <p class="where"><code title="data directory of this worker">${plain(now?.data_dir ?? '')}</code></p></div></header>
    ${answer.error && now && html`<div class="banner" role="alert">${plain(answer.error.message)}. What is shown is older; this page goes on by itself.</div>`}
    <main id="main" tabindex="-1">${now ? html`<div class="overview">
      <${Attention} now=${now} /><${Figures} now=${now} /><${Workers} now=${now} /><${Shards} now=${now} />
      <${Card} title="One shard" wide=${true} says="each is a data directory, which every command reads">
        ${now.shards.some((it) => it.owner === now.worker) ? html`<${Command} line=${`gleaner status --data-dir ${now.data_dir}/shards/${shardOf(now.shards.find((it) => it.owner === now.worker).shard)}`} />` : html`<${Empty} title="This worker owns none" />`}<//>
      </div>` : html`<${Missing} answer=${answer} what="workers" rows=${8} />`}</main>
    <footer class="foot"><span>gleaner ${now?.version ?? ''}</span><a href="openapi.json">API</a><a href="metrics">metrics</a></footer>`;
}
