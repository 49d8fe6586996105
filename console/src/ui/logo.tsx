/** The mark: containers in a yard, one of them at work. The favicon `icon.svg` has the same shapes. */
export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden focusable="false">
      <path className="logo-yard" d="M16 2.5 28 9.4v13.2L16 29.5 4 22.6V9.4Z" />
      <path className="logo-front" d="M16 16v13.5L4 22.6V9.4Z" />
      <path className="logo-top" d="M16 2.5 28 9.4 16 16 4 9.4Z" />
    </svg>
  );
}
