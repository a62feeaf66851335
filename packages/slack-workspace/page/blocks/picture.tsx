import { type JsonObject, textOf } from '../json.ts';

/** Pictures from elsewhere are described, not loaded: no request leaves the machine. */
export function Picture({ image }: { image: JsonObject }) {
  const alt = textOf(image, 'alt_text') ?? '';
  const url = textOf(image, 'image_url') ?? '';
  const isHere = url.startsWith('data:image/') || url.startsWith(`${location.origin}/`);
  return isHere ? <img src={url} alt={alt} /> : <span class="picture">Picture: {alt}</span>;
}
