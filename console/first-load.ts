/** The parts of Vite's manifest that are needed here. */
export type Manifest = Record<string, { file: string; imports?: string[]; isEntry?: boolean }>;

/**
 * Returns the scripts that a browser loads before it shows the first page: the entry, the overview, and all that they
 * import, themselves or through others. What is imported with `import()` comes later. Throws if a module is not there.
 */
export function firstLoadScripts(manifest: Manifest, modules: readonly string[]): Set<string> {
  const scripts = new Set<string>();
  const visit = (name: string) => {
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`the build has no ${name}`);
    if (scripts.has(chunk.file)) return;
    scripts.add(chunk.file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  for (const name of modules) visit(name);
  return scripts;
}
