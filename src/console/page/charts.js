// Charts as SVG: lines, areas and stacked areas over time, and bars. What is under the pointer, or
// under the cursor that the arrow keys move, stands in the legend; a table says the same to screen
// readers.

import { html, useEffect, useMemo, useRef, useState } from './preact.js';
import { clock, day, NONE, number } from './format.js';

const ROWS_READ = 12;
const PAD = { left: 44, right: 8, top: 8, bottom: 20 };

// The width of an element, as it changes.
function useWidth() {
  const ref = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

// A round number at or above this one, whose half is round too.
function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.999) * power;
}

const EDGE = 20;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000];

// Times for the axis, on full minutes or hours of the reader's day.
function ticksOf(from, to, most) {
  const step = 1000 * (STEPS.find((it) => (to - from) / (1000 * it) <= most) ?? STEPS.at(-1));
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const ticks = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) ticks.push(at);
  const name = (at) => (step >= 86_400_000 ? day(at).slice(5, 10) : step >= 60_000 ? clock(at).slice(0, 5) : clock(at));
  return ticks.map((at) => [at, name(at)]);
}

// Rates per second of a counter, or the values of a gauge, at about `most` points. Of rows that are
// [time, value…] with nulls where nothing is known.
export function points(rows, column, isCounter, most = 150) {
  if (rows.length < 2) return [];
  const every = Math.max(1, Math.ceil((rows.length - 1) / most));
  const usual = (rows.at(-1)[0] - rows[0][0]) / (rows.length - 1);
  const found = [];
  // From the end, so that points stay where they are while rows arrive at full steps.
  for (let at = rows.length - 1; at > 0; at -= every) {
    const before = rows[Math.max(0, at - every)];
    const here = rows[at];
    const passed = (here[0] - before[0]) / 1000;
    const [older, newer] = [before[column], here[column]];
    // A crawl that did not run has no rate meanwhile.
    const isGap = here[0] - before[0] > 4 * usual * Math.min(every, at);
    let value = newer ?? null;
    if (isCounter) value = older === null || older === undefined || newer === null || newer === undefined || passed <= 0 ? null : Math.max(0, newer - older) / passed;
    found.push([here[0], isGap && isCounter ? null : value]);
    if (isGap) found.push([here[0] - 1, null]);
  }
  return found.reverse();
}

// The path of a line with gaps, and of the area between it and another.
function path(tops, bottoms, x, y, isArea) {
  let text = '';
  let run = [];
  const close = () => {
    if (run.length > 0 && isArea) {
      const back = run.map((at) => `L${x(tops[at][0])} ${y(bottoms?.[at]?.[1] ?? 0)}`).reverse();
      text += `M${run.map((at) => `${x(tops[at][0])} ${y(tops[at][1])}`).join('L')}${back.join('')}Z`;
    } else if (run.length > 0) {
      text += `M${run.map((at) => `${x(tops[at][0])} ${y(tops[at][1])}`).join('L')}`;
      if (run.length === 1) text += 'h.1';
    }
    run = [];
  };
  tops.forEach(([, value], at) => (value === null ? close() : run.push(at)));
  close();
  return text;
}

// `series`: [{ key, name, tone, points, href }], all with the same times. `stack` puts one on top of the
// other. `cursor` is a time that charts beside this one share.
export function TimeChart({ title, series, format = number, stack = false, height = 132, cursor, onCursor, total = null, area = true }) {
  const [ref, width] = useWidth();
  const [own, setOwn] = useState(null);
  const at = cursor === undefined ? own : cursor;
  const setAt = onCursor ?? setOwn;
  const drawn = useMemo(() => {
    const times = series[0]?.points.map(([time]) => time) ?? [];
    const tops = [];
    let floor = times.map((time) => [time, 0]);
    for (const one of series) {
      if (!stack) {
        tops.push({ ...one, top: one.points, bottom: null });
        continue;
      }
      const base = floor;
      const top = one.points.map(([time, value], index) => [time, value === null ? null : (base[index]?.[1] ?? 0) + value]);
      tops.push({ ...one, top, bottom: base });
      floor = top.map(([time, value], index) => [time, value ?? base[index]?.[1] ?? 0]);
    }
    let most = 0;
    for (const one of tops) for (const [, value] of one.top) if (value > most) most = value;
    return { times, tops, most: ceiling(most), isFlat: most === 0 };
  }, [series, stack]);
  const { times, tops, most, isFlat } = drawn;
  const inner = { width: Math.max(10, width - PAD.left - PAD.right), height: height - PAD.top - PAD.bottom };
  const from = times[0] ?? 0;
  const to = times.at(-1) ?? 1;
  const x = (time) => +(PAD.left + (inner.width * (time - from)) / Math.max(1, to - from)).toFixed(1);
  const y = (value) => +(PAD.top + inner.height * (1 - Math.min(1, value / most))).toFixed(1);
  const nearest = (time) => {
    let best = -1;
    for (let index = 0; index < times.length; index += 1) if (best < 0 || Math.abs(times[index] - time) < Math.abs(times[best] - time)) best = index;
    return best;
  };
  const index = at === null || at === undefined || times.length === 0 ? times.length - 1 : nearest(at);
  const isHeld = at !== null && at !== undefined && times.length > 0;
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const ratio = (event.clientX - box.left - PAD.left) / inner.width;
    if (times.length > 0) setAt(from + Math.min(1, Math.max(0, ratio)) * (to - from));
  };
  const key = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (event.key === 'Escape') setAt(null);
    if (by === undefined || times.length === 0) return;
    event.preventDefault();
    setAt(times[Math.min(times.length - 1, Math.max(0, index + by))]);
  };
  const value = (one) => {
    const found = one.points[index]?.[1];
    return found === null || found === undefined ? NONE : format(found);
  };
  const sum = series.reduce((all, one) => all + (one.points[index]?.[1] ?? 0), 0);
  const spoken = `${title}${isHeld ? ` at ${clock(times[index])}` : ''}: ${series.map((one) => `${one.name} ${value(one)}`).join(', ')}`;
  return html`<figure class="chart">
    <figcaption><h3>${title}</h3>${total && html`<span class="total">${format(sum)}</span>`}
      <span class="when">${isHeld ? (to - from > 80_000_000 ? day(times[index]) : clock(times[index])) : ''}</span>
      <span class="legend">${series.map((one) => html`<span key=${one.key} title=${one.says}>
        <i class=${`dot ${one.tone}`}></i>${one.href ? html`<a href=${one.href}>${one.name}</a>` : one.name} <b>
        ${value(one)}</b></span>`)}</span>
    </figcaption>
    <div ref=${ref} class="plot">
      ${width > 0 && html`<svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${spoken} tabindex="0"
          onPointerMove=${point} onPointerLeave=${() => setAt(null)} onKeyDown=${key} onBlur=${() => setAt(null)}>
        ${(isFlat ? [0] : [0, 0.5, 1]).map((part) => html`<g key=${part}>
          <line class="grid" x1=${PAD.left} x2=${width - PAD.right} y1=${y(part * most)} y2=${y(part * most)} />
          <text class="tick" x=${PAD.left - 6} y=${y(part * most) + 3.5} text-anchor="end">
            ${part === 0 ? '0' : format(part * most).replace('/s', '')}</text></g>`)}
        ${times.length > 1 && ticksOf(from, to, Math.max(2, Math.floor(inner.width / 80))).map(([time, name]) => html`<text key=${time} class="tick" x=${Math.min(x(time), width - EDGE)} y=${height - 5} text-anchor="middle">
          ${name}</text>`)}
        ${tops.map((one) => html`<g key=${one.key} class=${one.tone}>
          ${(area || stack) && html`<path class=${stack ? 'layer' : 'area'} d=${path(one.top, one.bottom, x, y, true)} />`}
          ${!stack && html`<path class="line" d=${path(one.top, null, x, y, false)} />`}</g>`)}
        ${isHeld && html`<line class="cursor" x1=${x(times[index])} x2=${x(times[index])} y1=${PAD.top} y2=${height - PAD.bottom} />`}
      </svg>`}
      ${(times.length < 2 || isFlat) && html`<p class="nodata">${times.length < 2 ? 'nothing to draw yet' : 'none in this time'}</p>`}
    </div>
    <${Spoken} title=${title} series=${series} format=${format} />
  </figure>`;
}

// The chart as a table, of a few of its times.
function Spoken({ title, series, format }) {
  const times = series[0]?.points ?? [];
  const every = Math.max(1, Math.ceil(times.length / ROWS_READ));
  const shown = times.map((_, index) => index).filter((index) => (times.length - 1 - index) % every === 0);
  return html`<div class="unseen"><table><caption>${title}</caption>
    <thead><tr><th scope="col">time</th>${series.map((one) => html`<th scope="col" key=${one.key}>
      ${one.name}</th>`)}</tr></thead>
    <tbody>${shown.map((index) => html`<tr key=${index}><th scope="row">${day(times[index][0])}</th>
      ${series.map((one) => html`<td key=${one.key}>
        ${one.points[index]?.[1] === null ? NONE : format(one.points[index]?.[1])}</td>`)}</tr>`)}</tbody></table></div>`;
}

// Parts of a whole in one bar.
export function Parts({ title, parts, format = number }) {
  const all = parts.reduce((sum, part) => sum + part.value, 0);
  let begun = 0;
  return html`<svg class="parts" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label=${`${title}: ${parts.map((part) => `${part.name} ${format(part.value)}`).join(', ')}`}>
    <rect class="track" width="1000" height="14" />
    ${all > 0 && parts.filter((part) => part.value > 0).map((part) => {
      const width = (1000 * part.value) / all;
      const rect = html`<rect key=${part.key} class=${part.tone} x=${begun} width=${Math.max(1.5, width - 2)} height="14">
        <title>${`${part.name}: ${format(part.value)}`}</title></rect>`;
      begun += width;
      return rect;
    })}</svg>`;
}

// A histogram: [[name, value]…].
export function Histogram({ title, rows, tone = 'v-near', height = 110 }) {
  const [ref, width] = useWidth();
  const [at, setAt] = useState(null);
  const most = ceiling(Math.max(0, ...rows.map(([, value]) => value)));
  const inner = height - 24;
  const step = rows.length > 0 ? Math.max(1, width - 8) / rows.length : 1;
  const every = Math.max(1, Math.ceil(34 / step));
  const held = rows[at];
  return html`<figure class="chart"><figcaption><h3>${title}</h3><span class="when">
    ${held ? `${held[0]}: ${number(held[1])}` : ''}</span></figcaption>
    <div ref=${ref} class="plot">${width > 0 && html`<svg width=${width} height=${height} role="img" aria-label=${title} onPointerLeave=${() => setAt(null)}>
      ${rows.map(([name, value], index) => html`<g key=${name} class=${tone} onPointerEnter=${() => setAt(index)}>
        <rect class="hit" x=${4 + index * step} y="0" width=${step} height=${height} />
        <rect class=${`column${at === index ? ' held' : ''}`} x=${4 + index * step + Math.min(1, step / 8)} width=${Math.max(1, step - Math.min(2, step / 4))} y=${4 + inner * (1 - value / most)} height=${(inner * value) / most} rx="1.500" />
        ${index % every === 0 && html`<text class="tick" x=${4 + (index + 0.5) * step} y=${height - 5} text-anchor="middle">
          ${name}</text>`}</g>`)}
    </svg>`}</div>
    <div class="unseen"><table><caption>${title}</caption><tbody>${rows.map(([name, value]) => html`<tr key=${name}>
      <th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table></div></figure>`;
}

// What held at each time, as a strip: `marks` are [time, name] in order.
export function Strip({ title, marks, tones, to }) {
  const [ref, width] = useWidth();
  const from = marks[0]?.[0] ?? 0;
  const end = Math.max(to ?? 0, marks.at(-1)?.[0] ?? 1);
  const x = (time) => PAD.left + ((width - PAD.left - PAD.right) * (time - from)) / Math.max(1, end - from);
  const runs = [];
  marks.forEach(([time, name]) => {
    if (runs.at(-1)?.name !== name) runs.push({ time, name });
  });
  return html`<div ref=${ref} class="strip">
    ${width > 0 && marks.length > 1 && html`<svg width=${width} height="14" role="img" aria-label=${title}>
    ${runs.map((run, index) => html`<rect key=${run.time} class=${tones(run.name)} x=${x(run.time)} width=${Math.max(0.5, x(runs[index + 1]?.time ?? end) - x(run.time))} height="10" y="2">
      <title>${run.name}</title></rect>`)}
  </svg>`}</div>`;
}
