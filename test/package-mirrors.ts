/** Returns the variables that say where this machine gets packages, for a server that installs some. */
export function packageMirrors(): Record<string, string> {
  const names = ['npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
