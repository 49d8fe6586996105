import { useEffect } from 'react';
import { useLocation } from 'react-router';

/**
 * Keeps the focus in the page. A page that is navigated to, also back and forward, gets it at its heading, which screen readers
 * then read; so does one from which the element with the focus disappears, such as the row of a deleted record.
 */
export function useHeadingFocus(): void {
  const page = pageOf(useLocation().pathname);
  useEffect(() => keeper.enter(page), [page]);
  useEffect(() => keeper.start(), []);
}

class FocusKeeper {
  #page: string | null = null;
  #isWanted = false;
  #focused: Element | null = null;

  /** Moves the focus as soon as the page has its heading. The first page leaves it where the browser puts it. */
  enter(page: string): void {
    this.#isWanted ||= this.#page !== null && this.#page !== page;
    this.#page = page;
    this.#look();
  }

  start(): () => void {
    const onFocus = ({ target }: FocusEvent) => {
      this.#focused = target as Element;
    };
    const observer = new MutationObserver(() => this.#look());
    document.addEventListener('focusin', onFocus);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', onFocus);
      observer.disconnect();
    };
  }

  #look(): void {
    const isLost = document.activeElement === document.body && this.#focused?.isConnected === false;
    if (!this.#isWanted && !isLost) return;
    const heading = document.querySelector<HTMLElement>('main h1');
    // A dialog keeps the focus until it is gone.
    if (heading === null || document.querySelector('[role=dialog]') !== null) return;
    heading.focus({ preventScroll: !this.#isWanted });
    this.#isWanted = false;
  }
}

const keeper = new FocusKeeper();

/** Returns the page of a path: the tabs of a record are one page. */
export function pageOf(pathname: string): string {
  return pathname.split('/').slice(0, 3).join('/');
}
