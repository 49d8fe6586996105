/** Saves what is in the page as a file. A link to the server could not send the key. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
