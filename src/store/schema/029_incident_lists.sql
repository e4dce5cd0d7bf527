-- The incidents of a state, of a type and of a key, newest first.
CREATE INDEX alerts_of_state ON alerts (state, alert_id);
CREATE INDEX alerts_of_type ON alerts (alert_type, alert_id);
CREATE INDEX alerts_of_key ON alerts (key_name, alert_id);
