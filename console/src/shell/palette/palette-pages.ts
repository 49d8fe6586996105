import { creations, namedPages } from '../pages.ts';
import { type PaletteItem, paletteItem } from './palette-items.ts';

/** Returns the pages that have a name, and the forms that create something. */
export function pageItems(isAdmin: boolean): PaletteItem[] {
  return [
    ...namedPages(isAdmin).map(({ path, label, keywords }) =>
      paletteItem('Page', label, { to: path, keywords: `go to ${keywords}` }),
    ),
    ...creations(isAdmin).map(({ label, to, keywords }) => paletteItem('Action', label, { to, keywords })),
  ];
}
