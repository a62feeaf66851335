export function formatTimestamp(time: number): string {
  return new Date(time).toISOString().replace('Z', '+00:00');
}
