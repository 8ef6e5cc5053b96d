/** The first load of the page, and the next. */
import type { Browser, CDPSession, Page } from 'playwright';
import { withBench } from '../faults/bench.ts';
import type { Report, Row } from './report.ts';
import { teachPainted } from './painted.ts';
import { openPage } from './stage.ts';

export const load: Row[] = [{ name: 'load', run }];

interface Asset {
	url: string;
	/** When it was asked for, by the clock of the machine, in ms. */
	asked: number;
	bytes: number;
	headers: Record<string, string>;
}

async function run(report: Report, browser: Browser) {
	await withBench(
		browser,
		() => [],
		{ closed: true },
		async (bench) => {
			let assets = new Map<string, Asset>();
			const { page } = await openPage(bench, {
				prepare: async (page) => {
					await teachPainted(page);
					await expectUsable(page);
					await followAssets(await page.context().newCDPSession(page), () => assets);
				},
			});
			const usable = await usableAt(page);
			const needed = [...assets.values()].filter(({ asked }) => asked < usable.at);
			report.bytes('script and style before the page is usable', sum(needed) / 1000, 'KB', 60);
			report.absolute('prompt box usable after', usable.after, 'ms', 150);
			const careless = [...assets.values()].filter((asset) => !kept(asset));
			report.bytes('files not compressed, hashed and cached for good', careless.length, '', 0);

			assets = new Map();
			await page.reload();
			await usableAt(page);
			report.bytes('script and style of the next load', sum([...assets.values()]) / 1000, 'KB', 0);
		},
	);
}

const sum = (assets: Asset[]) => assets.reduce((total, { bytes }) => total + bytes, 0);

const kept = ({ url, headers }: Asset) =>
	/[-.][\w-]{8,}\.\w+$/.test(new URL(url).pathname) &&
	/^(br|gzip|zstd)$/.test(headers['content-encoding'] ?? '') &&
	/max-age=31536000/.test(headers['cache-control'] ?? '') &&
	/immutable/.test(headers['cache-control'] ?? '');

async function followAssets(cdp: CDPSession, assets: () => Map<string, Asset>) {
	await cdp.send('Network.enable');
	cdp.on('Network.requestWillBeSent', ({ requestId, type, request, wallTime }) => {
		if (type !== 'Script' && type !== 'Stylesheet') return;
		assets().set(requestId, { url: request.url, asked: wallTime * 1000, bytes: 0, headers: {} });
	});
	cdp.on('Network.responseReceived', ({ requestId, response }) => {
		const asset = assets().get(requestId);
		if (!asset) return;
		asset.headers = Object.fromEntries(
			Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
		);
	});
	cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
		const asset = assets().get(requestId);
		if (asset) asset.bytes = encodedDataLength;
	});
}

/** Has the page note when its prompt box can be written into and is painted. */
function expectUsable(page: Page) {
	return page.addInitScript(() => {
		const { painted } = window as unknown as { painted(): Promise<number> };
		const observer = new MutationObserver(() => {
			const box = document.querySelector('textarea');
			if (!box || box.disabled || box.readOnly) return;
			observer.disconnect();
			const usable = painted().then((at) => ({ at, after: at - performance.timeOrigin }));
			Object.assign(window, { usable });
		});
		observer.observe(document, { childList: true, subtree: true, attributes: true });
	});
}

async function usableAt(page: Page) {
	await page.waitForFunction(() => 'usable' in window);
	return page.evaluate(
		() => (window as unknown as { usable: Promise<{ at: number; after: number }> }).usable,
	);
}
