import { decodeEntities } from './entities.ts';

const SCHEMES = ['http:', 'https:', 'mailto:'];

/** Where a link of an answer may lead: an absolute address on the web, or a mail address. */
export function linkTarget(href: string): URL | undefined {
	const address = decodeEntities(href);
	if (!URL.canParse(address)) return undefined;

	// The browser's own reading is checked and used, not the text it was read from.
	const url = new URL(address);
	return SCHEMES.includes(url.protocol) ? url : undefined;
}
