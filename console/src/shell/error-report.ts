export interface ErrorPlace {
  path: string;
  build: string | null;
  browser: string;
  at: string;
}

/** Returns what a developer needs to know of an error, as text to copy; API keys are left out. */
export function errorReport(error: unknown, place: ErrorPlace): string {
  const { name, message, stack } =
    error instanceof Error ? error : { name: 'Error', message: String(error), stack: '' };
  const title = `${name}: ${message}`;
  return [
    title,
    `Page: ${place.path}`,
    `Console: ${place.build ?? 'unknown'}`,
    `Browser: ${place.browser}`,
    `Time: ${place.at}`,
    // Chromium's stacks begin with the title.
    ...(stack ? [(stack.startsWith(title) ? stack.slice(title.length) : stack).trim()] : []),
  ]
    .join('\n')
    .replaceAll(/pyk_\w+/g, 'pyk_…');
}

/** True if a part of the console could not be loaded, in the words of the browsers. */
export function isLoadError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /dynamically imported module|Importing a module script failed|Unable to preload/i.test(error.message)
  );
}
