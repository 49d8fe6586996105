/** Returns `HEALTH_CHECK_PATH` as it goes into a request line; `/ping` when it is not a valid path. */
export function healthPath(text: string): string {
  const path = text.startsWith('/') ? text : `/${text}`;
  return text !== '' && /^[\x21-\x7e]+$/.test(path) ? path : '/ping';
}
