import { useEffect } from 'react';

const unsaved = new Set<symbol>();
/** The page on which something was typed last; other pages have nothing of it. */
let typedOn: string | null = null;

/** True while the page has changes that a reload would lose. Nothing may then reload or leave it by itself. */
export function hasUnsavedChanges(): boolean {
  return unsaved.size > 0 || typedOn === location.hash;
}

/** True while a form on the page has changes that are not saved. */
export function hasUnsavedForms(): boolean {
  return unsaved.size > 0;
}

const discards = new Set<() => void>();

/** Calls `discard` when the user leaves a form without its changes. Returns what ends that. */
export function onDiscard(discard: () => void): () => void {
  discards.add(discard);
  return () => void discards.delete(discard);
}

/** Drops what forms keep of their changes. */
export function discardForms(): void {
  for (const discard of discards) discard();
}

/** Records whether the component's form has unsaved changes, while it is mounted. */
export function useUnsaved(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty) return;
    const mark = Symbol('unsaved');
    unsaved.add(mark);
    return () => void unsaved.delete(mark);
  }, [isDirty]);
}

/** Counts whatever is typed on a page as unsaved: a job's input is in no form. Returns what ends it. */
export function watchTyping(): () => void {
  const onInput = () => {
    typedOn = location.hash;
  };
  document.addEventListener('input', onInput);
  return () => document.removeEventListener('input', onInput);
}
