import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { BASE_URL } from '../../api/client.ts';
import { accountQuery, teamsQuery } from '../../api/queries.ts';
import { signOut } from '../../api/sign-in-calls.ts';
import { notifyError, notifySuccess } from '../../ui/notify.ts';
import { useSwitch } from '../account-switch.tsx';
import { type PaletteItem, paletteItem } from './palette-items.ts';
import { pageItems } from './palette-pages.ts';

/** The pages, and what can be done from anywhere. */
export function usePaletteActions(): readonly PaletteItem[] {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  const teams = useQuery(teamsQuery).data?.teams ?? [];
  const actFor = useSwitch();
  return [
    ...pageItems(isAdmin),
    ...teams.map(({ id, name }) =>
      paletteItem('Action', `Act for ${name}`, { id: `act-${id}`, run: () => actFor(id), keywords: 'switch team' }),
    ),
    ...(teams.length === 0
      ? []
      : [paletteItem('Action', 'Act for my own account', { run: () => actFor(null), keywords: 'switch team' })]),
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
    paletteItem('Action', 'Sign out', { run: () => void signOut(), keywords: 'log out leave' }),
  ];
}

function copyLink(): void {
  navigator.clipboard.writeText(location.href).then(() => notifySuccess('Copied the link.'), notifyError);
}
