import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { BASE_URL } from '../../api/client.ts';
import { signOut } from '../../api/session.ts';
import { notifyError, notifySuccess } from '../../ui/notify.ts';
import { useMenu } from '../use-menu.ts';
import { type PaletteItem, paletteItem } from './palette-items.ts';

/** Forms that have a page or a dialog of their own. */
const FORMS = [
  ['Create endpoint…', '/endpoints/new', 'new deploy'],
  ['Create pod…', '/pods/new', 'new'],
  ['Create cluster…', '/clusters/new', 'new'],
  ['Create template…', '/templates?new', 'new'],
  ['Create secret…', '/secrets?new', 'new'],
  ['Create network volume…', '/volumes?new', 'new'],
  ['Create API key…', '/keys?new', 'new token'],
].map(([label, to, keywords]) => paletteItem('Action', label!, { to: to!, keywords: keywords! }));

/** The pages, and what can be done from anywhere. */
export function usePaletteActions(): readonly PaletteItem[] {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const pages = useMenu().flatMap((group) => group.pages);
  return [
    ...pages.map(({ to, label, keywords = '' }) => paletteItem('Page', label, { to, keywords: `go to ${keywords}` })),
    ...FORMS,
    paletteItem('Action', `Switch to ${other}`, {
      run: () => setColorScheme(other),
      keywords: 'color scheme mode theme',
    }),
    paletteItem('Action', 'Use the color scheme of the system', {
      run: () => setColorScheme('auto'),
      keywords: 'auto dark light theme',
    }),
    paletteItem('Action', 'Copy the link to this page', { run: copyLink, keywords: 'share url' }),
    paletteItem('Action', 'Open the documentation', { run: () => open(`${BASE_URL}/docs/`), keywords: 'help guide' }),
    paletteItem('Action', 'Open the API reference', {
      run: () => open(`${BASE_URL}/docs/api/`),
      keywords: 'rest openapi',
    }),
    paletteItem('Action', 'Sign out', { run: () => signOut(), keywords: 'log out leave' }),
  ];
}

function copyLink(): void {
  navigator.clipboard.writeText(location.href).then(() => notifySuccess('Copied the link.'), notifyError);
}
