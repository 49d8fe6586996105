/** Returns the page of a path: the tabs of a record are one page. */
export function pageOf(pathname: string): string {
  return pathname.split('/').slice(0, 3).join('/');
}
