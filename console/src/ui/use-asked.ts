import { useEffect, useRef } from 'react';
import { useSearchParams } from 'react-router';

const PARAMETER = 'do';

/** Calls `ask` if a link asks for an action: `?do=pause`. It goes from the URL, so that going back does not ask again. */
export function useAsked(action: string, ask: () => void): void {
  const [params, setParams] = useSearchParams();
  const isAsked = params.get(PARAMETER) === action;
  const current = useRef(ask);
  current.current = ask;
  useEffect(() => {
    if (!isAsked) return;
    current.current();
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.delete(PARAMETER);
        return next;
      },
      { replace: true },
    );
  }, [isAsked, setParams]);
}
