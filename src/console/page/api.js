// The crawl's answers: from the API beside the page, or from the data inside a saved report.

import { useEffect, useMemo, useRef, useState } from './preact.js';

const inside = document.getElementById('data');

// What a saved report holds: answers by path. Null where a crawl is behind the page.
export const saved = inside ? JSON.parse(inside.textContent) : null;

const TOKEN = 'gleaner-token';

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }

  // This version of gleaner has no such route.
  get isMissing() {
    return this.status === 404 || this.status === 405 || this.status === 501;
  }
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

export function headers(more = {}) {
  const token = saved ? null : sessionStorage.getItem(TOKEN);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

// The address of a route, below whatever prefix the page was opened at.
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const text = new URLSearchParams(given).toString();
  return `api/v1/${path}${text ? `?${text}` : ''}`;
}

async function answerOf(response) {
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    // Something before the crawl answered, such as a proxy.
  }
  if (response.ok && body !== null) return body;
  const told = body?.error;
  throw new ApiError(response.status, told?.code ?? 'unknown', told?.message ?? `the answer was ${response.status} ${response.statusText}`);
}

async function sent(url, options) {
  try {
    return await fetch(url, { cache: 'no-store', credentials: 'same-origin', redirect: 'error', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The crawl does not answer: it may have ended');
  }
}

export async function get(path, query, signal) {
  if (saved) {
    if (path in saved.answers) return saved.answers[path];
    throw new ApiError(404, 'not-in-report', 'not in a saved report');
  }
  return answerOf(await sent(address(path, query), { headers: headers(), signal }));
}

export async function post(path, body = {}) {
  const options = {
    method: 'POST',
    headers: headers({ 'Content-Type': 'application/json' }),
    body: JSON.stringify(body),
  };
  return answerOf(await sent(address(path), options));
}

// 30s and 1GiB as 30 s and 1 GiB.
function setting(value) {
  return typeof value === 'string' ? value.replace(/(\d)([a-zA-Z])/g, '$1 $2') : value;
}

// The crawl's settings by their keys, as far as they are known; most hold for its whole run.
export function useSettings() {
  const { data } = useAnswer('config');
  return useMemo(() => new Map((data?.settings ?? []).map((it) => [it.key, setting(it.value)])), [data]);
}

// The answer to a question, asked again every `every` milliseconds while somebody looks. What was
// answered stays until there is something newer. Without a path nothing is asked.
export function useAnswer(path, query = {}, every = 0) {
  const [state, setState] = useState({ data: null, error: null, asking: true, of: null });
  const [turn, setTurn] = useState(0);
  const key = path === null ? null : address(path, query);
  const shown = useRef(null);
  useEffect(() => {
    if (key === null) return undefined;
    const abort = new AbortController();
    let timer = null;
    if (shown.current !== key) setState({ data: null, error: null, asking: true, of: key });
    shown.current = key;
    const ask = async () => {
      timer = null;
      if (!document.hidden) {
        try {
          const data = await get(path, query, abort.signal);
          setState({ data, error: null, asking: false, of: key });
        } catch (error) {
          if (abort.signal.aborted) return;
          setState((old) => ({ ...old, error, asking: false }));
          if (error.isMissing) return;
        }
      }
      if (every > 0 && !saved && !abort.signal.aborted) timer = setTimeout(ask, every);
    };
    const woken = () => {
      if (!document.hidden && timer !== null) {
        clearTimeout(timer);
        ask();
      }
    };
    document.addEventListener('visibilitychange', woken);
    ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', woken);
    };
  }, [key, every, turn]);
  const isCurrent = state.of === key;
  return {
    data: isCurrent ? state.data : null,
    error: isCurrent ? state.error : null,
    asking: isCurrent ? state.asking : key !== null,
    again: () => setTurn((value) => value + 1),
  };
}
