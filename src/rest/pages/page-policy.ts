/**
 * The Content-Security-Policy of static pages: nothing is loaded from other hosts, framed, submitted elsewhere or injected
 * as inline script. Pages have an empty `data:` icon, so that browsers ask for none.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
