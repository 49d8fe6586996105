import { useQuery } from '@tanstack/react-query';
import { accountQuery } from '../api/queries.ts';
import { MENU } from './pages.ts';

/** Returns the menu of the signed-in user: what is for admins only with their role. */
export function useMenu(): typeof MENU {
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  if (isAdmin) return MENU;
  return MENU.map(({ title, pages }) => ({ title, pages: pages.filter(({ isForAdmins }) => !isForAdmins) }));
}
