/** Returns the name of the script that a page of the console starts with; it changes with every build. */
export function buildOf(html: string): string | null {
  const [, tag = ''] = html.split('<script ', 2);
  const source = /\bsrc="([^"]+)"/.exec(tag.slice(0, tag.indexOf('>')))?.[1] ?? '';
  return source.endsWith('.js') ? source.slice(source.lastIndexOf('/') + 1) : null;
}

export interface StalePage {
  /** The build that runs. */
  own: string | null;
  /** The build that the server has now; null if it did not say. */
  served: string | null;
  /** The build for which this tab was reloaded before. */
  reloadedFor: string | null;
  hasUnsavedChanges: boolean;
}

/**
 * Decides what a page of an older build does: it reloads itself once, unless something would be lost; then it offers to.
 * If a reload brought the old build again (a cache, two versions side by side), it only offers too.
 */
export function decideStale(page: StalePage): 'nothing' | 'reload' | 'offer' {
  if (page.served === null || page.own === null || page.served === page.own) return 'nothing';
  if (page.reloadedFor === page.served || page.hasUnsavedChanges) return 'offer';
  return 'reload';
}
