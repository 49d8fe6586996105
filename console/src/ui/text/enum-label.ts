/** Returns an enum value of the API as text: `IN_QUEUE` → `In queue`. */
export function enumLabel(value: string): string {
  const words = value.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
