import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sirv from 'sirv';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));

const HEADERS = {
	'Content-Security-Policy': [
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"img-src 'self' data:",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		'trusted-types svelte-trusted-html',
	].join('; '),
	'X-Content-Type-Options': 'nosniff',
	'Referrer-Policy': 'no-referrer',
	'Cross-Origin-Opener-Policy': 'same-origin',
	'Cross-Origin-Resource-Policy': 'same-origin',
};

/** What every answer carries: a page that cannot be framed, read or made to run what is not ours. */
export function setHeaders(response: ServerResponse) {
	for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

/** Answers with the files of the page as it was built when this began. */
export function page() {
	const files = sirv(join(DIST, readFileSync(join(DIST, 'current'), 'utf8')), {
		etag: true,
		brotli: true,
		gzip: true,
	});

	return (request: IncomingMessage, response: ServerResponse) => {
		if (request.method !== 'GET' && request.method !== 'HEAD') {
			return void response.writeHead(405, { Allow: 'GET, HEAD' }).end('Only GET and HEAD.');
		}
		// What is built is named by its content; the page itself is not.
		const immutable = request.url?.startsWith('/assets/');
		response.setHeader(
			'Cache-Control',
			immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
		);
		files(request, response, () => void response.writeHead(404).end('There is nothing here.'));
	};
}
