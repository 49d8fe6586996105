import { getNonce } from 'get-nonce';

let isDone = false;

/**
 * Gives every style element that scripts create the page's nonce, which its policy asks for: xterm.js creates some, and takes no
 * nonce.
 */
export function giveStylesNonce(): void {
  if (isDone) return;
  isDone = true;
  const create = document.createElement.bind(document) as typeof document.createElement;
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = getNonce() ?? '';
    return element;
  };
}
