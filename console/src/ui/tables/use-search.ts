import { useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';

/** While somebody types, the URL follows after this pause. */
const PAUSE_MS = 300;

/** The search of a list, which is in the URL as `?q=`: a link to the list leads to the same records. */
export function useSearch(): [search: string, setSearch: (search: string) => void] {
  const [params, setParams] = useSearchParams();
  const inUrl = params.get('q') ?? '';
  const [search, setSearch] = useState(inUrl);
  const known = useRef(inUrl);
  useEffect(() => {
    if (inUrl === known.current) return; // it follows what was typed
    known.current = inUrl;
    setSearch(inUrl);
  }, [inUrl]);
  useEffect(() => {
    if (search === known.current) return;
    const timer = setTimeout(() => {
      known.current = search;
      setParams((now) => withSearch(now, search), { replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [search, setParams]);
  return [search, setSearch];
}

function withSearch(params: URLSearchParams, search: string): URLSearchParams {
  const next = new URLSearchParams(params);
  if (search === '') next.delete('q');
  else next.set('q', search);
  return next;
}
