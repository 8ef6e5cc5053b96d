import type { Page } from 'playwright';

/** What goes over the socket of a page, as Chromium sees it. To be begun before the page loads. */
export class Traffic {
	/** In bytes, without the few that frame each message. */
	received = 0;
	frames = 0;

	async follow(page: Page) {
		const cdp = await page.context().newCDPSession(page);
		await cdp.send('Network.enable');
		cdp.on('Network.webSocketFrameReceived', ({ response }) => {
			const { opcode, payloadData } = response;
			// Binary ones are shown in base64.
			this.received += Buffer.byteLength(payloadData, opcode === 2 ? 'base64' : 'utf8');
			this.frames++;
		});
		cdp.on('Network.webSocketFrameSent', () => this.frames++);
	}
}
