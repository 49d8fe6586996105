import { useEffect, useRef } from 'react';
import { useSearchParams } from 'react-router';

/** The link that was followed: a page may have the same button twice. */
let followed: string | null = null;

/**
 * Calls `act` if the URL asks for it: `?do=pause`, or `?new` with the value ''. Null asks for nothing. The parameter goes from the URL,
 * so that going back does not ask again.
 */
export function useAsked(name: 'do' | 'new', value: string | null, act: () => void): void {
  const [params, setParams] = useSearchParams();
  const isAsked = value !== null && params.get(name) === value;
  const link = `${name}=${value}`;
  const current = useRef(act);
  current.current = act;
  useEffect(() => {
    if (!isAsked) {
      if (followed === link) followed = null;
      return;
    }
    if (followed === link) return;
    followed = link;
    current.current();
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.delete(name);
        return next;
      },
      { replace: true },
    );
  }, [isAsked, name, link, setParams]);
}
