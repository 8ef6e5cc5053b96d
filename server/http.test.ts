import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { page } from './http.ts';

const FIRST_LOAD_BYTES = 60 * 1024;
const server = createServer(page());

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

async function ask(path: string, encoding: string) {
	const { port } = server.address() as AddressInfo;
	const response = await new Promise<IncomingMessage>((resolve) =>
		get({ port, path, headers: { 'Accept-Encoding': encoding } }, resolve),
	);
	return { headers: response.headers, body: await buffer(response) };
}

/** What the page names in its markup, so what a browser loads before it shows anything. */
async function firstAssets() {
	const { body } = await ask('/', 'identity');
	return [...body.toString().matchAll(/(?:src|href)="\.?(\/assets\/[^"]+\.(?:js|css))"/g)].map(
		([, path]) => path!,
	);
}

test.each([
	['br', brotliDecompressSync],
	['gzip', gunzipSync],
] as const)(
	'what a page needs first comes compressed with %s, is small, and is kept for good',
	async (encoding, decompress) => {
		const assets = await firstAssets();
		expect(assets.length).toBeGreaterThanOrEqual(2);
		let bytes = 0;
		for (const path of assets) {
			const plain = await ask(path, 'identity');
			expect(plain.headers['content-encoding']).toBeUndefined();
			const { headers, body } = await ask(path, `${encoding}, deflate`);
			expect(headers['content-encoding']).toBe(encoding);
			expect(headers['content-type']).toBe(plain.headers['content-type']);
			expect(headers['vary']).toMatch(/accept-encoding/i);
			expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
			expect(decompress(body).equals(plain.body)).toBe(true);
			bytes += body.length;
		}
		expect(bytes).toBeLessThan(FIRST_LOAD_BYTES);
	},
);

test('the page itself is asked for each time', async () => {
	const { headers, body } = await ask('/', 'br');
	expect(headers['cache-control']).toBe('no-cache');
	expect(headers['content-type']).toMatch(/text\/html/);
	expect(brotliDecompressSync(body).toString()).toContain('<title>Holdfast</title>');
});
