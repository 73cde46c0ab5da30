// Pages: those that were fetched, in the order of their commits. Numbers of pages lead here.

import { html, useEffect, useState } from './preact.js';
import { address, ApiError, headers } from './api.js';
import { count, day, NONE, number, plain, size } from './format.js';
import { Card, Choice, commandOf, Empty, Missing, TierChip, WebUrl } from './parts.js';

const SHOWN = 100;

// The first lines of an answer that may have millions of them: what is not wanted is not sent.
async function lines(url, most) {
  const abort = new AbortController();
  const response = await fetch(url, { headers: headers(), signal: abort.signal, cache: 'no-store' });
  if (!response.ok) throw new ApiError(response.status, 'unknown', `the answer was ${response.status} ${response.statusText}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const found = [];
  let rest = '';
  while (found.length < most) {
    const { done, value } = await reader.read();
    const parts = (rest + (done ? '\n' : decoder.decode(value, { stream: true }))).split('\n');
    rest = parts.pop();
    found.push(...parts.filter((line) => line.trim()).map((line) => JSON.parse(line)));
    if (done) return { pages: found.slice(0, most), isMore: found.length > most };
  }
  abort.abort();
  return { pages: found.slice(0, most), isMore: true };
}

export function Pages({ live, query, go }) {
  const unique = query.unique === '1' ? '1' : null;
  const [state, setState] = useState({ pages: [], isMore: false, asking: true, error: null });
  const [turn, setTurn] = useState(0);
  const read = async (before, isCurrent) => {
    try {
      const after = before.at(-1)?.position ?? null;
      const { pages, isMore } = await lines(address('pages', { after, unique, text: '0' }), SHOWN);
      if (isCurrent()) setState({ pages: [...before, ...pages], isMore, asking: false, error: null });
    } catch (error) {
      if (isCurrent()) setState((old) => ({ ...old, asking: false, error: error instanceof ApiError ? error : new ApiError(0, 'unreachable', 'The crawl does not answer: it may have ended') }));
    }
  };
  useEffect(() => {
    let isCurrent = true;
    setState({ pages: [], isMore: false, asking: true, error: null });
    read([], () => isCurrent);
    return () => {
      isCurrent = false;
    };
  }, [unique, turn]);
  const { pages, isMore } = state;
  return html`<${Card} title=${unique ? 'Pages of their own' : 'Pages'} wide=${true} says="in the order in which they were fetched" command=${commandOf(live.status, 'pages', unique ? '--unique --no-text' : '--no-text')}
      actions=${html`<${Choice} label="Which" value=${unique ?? ''} options=${[['', 'all'], ['1', 'unique']]} onChange=${(key) => go('pages', { unique: key })} />`}>
    ${pages.length === 0 ? (state.asking || state.error ? html`<${Missing} answer=${{ ...state, again: () => setTurn(turn + 1) }} what="pages" rows=${10} />` : html`<${Empty} title="No pages yet">They turn up as they are fetched.<//>`) : html`
    <div class="scroll"><table class="plain stack"><thead><tr><th scope="col">page</th><th scope="col">verdict</th>
      <th scope="col" class="n">status</th><th scope="col" class="n">size</th><th scope="col" class="n">words</th><th scope="col">fetched</th></tr></thead>
      <tbody>${pages.map((page) => html`<tr key=${page.position}><td class="fill"><${WebUrl} url=${page.url} />${page.title && html`<small>
        ${plain(page.title)}</small>`}</td><td>${page.verdict ? html`<${TierChip} tier=${page.verdict} />` : NONE}</td>
        <td class="n" data-name="status">${number(page.status)}</td><td class="n">${size(page.size)}</td><td class="n" data-name="words">${number(page.words)}</td>
        <td class="n">${day(page.time)}</td></tr>`)}</tbody></table></div>
    ${isMore && html`<p class="buttons"><button type="button" onClick=${() => read(pages, () => true)}>${count(SHOWN, 'page')} more</button></p>`}`}
  <//>`;
}
