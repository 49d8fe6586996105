/**
 * The Content-Security-Policy of pages made of files of ours: no other host is asked for anything, and nothing of a page can
 * be framed, sent elsewhere or replaced by markup in a text. Swagger UI draws its arrows from `data:` images.
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
